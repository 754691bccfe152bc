import Models

/// What a group's permissions are about.
public enum GroupPermission: CaseIterable, Hashable, Sendable {
    case addMembers, rename, write
}

extension Permissions {
    /// Who may do something.
    public subscript(permission: GroupPermission) -> Open<PermittedRoles> {
        switch permission {
        case .addMembers: addMembers
        case .rename: rename
        case .write: write
        }
    }

    /// What the server leaves out: nil, where every member may do all of it.
    var restricting: Permissions? { self == Permissions() ? nil : self }

    func changed(by new: RequestBody.NewPermissions) -> Permissions {
        var permissions = self
        if let roles = new.addMembers { permissions.addMembers = roles }
        if let roles = new.rename { permissions.rename = roles }
        if let roles = new.write { permissions.write = roles }
        return permissions
    }
}

extension RequestBody.NewPermissions {
    func joined(by later: Self) -> Self {
        var joined = later
        joined.addMembers = later.addMembers ?? addMembers
        joined.rename = later.rename ?? rename
        joined.write = later.write ?? write
        return joined
    }

    /// One permission; the others stay.
    public init(_ permission: GroupPermission, _ roles: PermittedRoles) {
        switch permission {
        case .addMembers: self.init(addMembers: roles)
        case .rename: self.init(rename: roles)
        case .write: self.init(write: roles)
        }
    }
}

extension Open<PermittedRoles> {
    /// Whether somebody of a role is among them. What a later version of the server knows is left to owners.
    public func include(_ role: Open<MemberRole>) -> Bool {
        switch known {
        case .members: true
        case .admins: role == .owner || role == .admin
        case .owners, nil: role == .owner
        }
    }
}

extension Conversation {
    /// Who may do something here.
    public func permittedRoles(_ permission: GroupPermission) -> Open<PermittedRoles> {
        permissions?[permission] ?? .known(.members)
    }

    /// Whether the user may now: a member, by their role.
    public func may(_ permission: GroupPermission) -> Bool {
        isMember && permittedRoles(permission).include(role)
    }

    /// Whether the user may send messages, and edit their own.
    public var mayWrite: Bool { may(.write) }
    public var mayRename: Bool { kind == .group && may(.rename) }
    public var mayAddMembers: Bool { kind == .group && may(.addMembers) }
}
