import Models

/// What a group's permissions are about.
public enum GroupPermission: CaseIterable, Hashable, Sendable {
    case addMembers, rename, write, mentionAll
}

extension Permissions {
    /// Who may do something.
    public subscript(permission: GroupPermission) -> Open<PermittedRoles> {
        switch permission {
        case .addMembers: addMembers
        case .rename: rename
        case .write: write
        case .mentionAll: mentionAll ?? .known(.admins)
        }
    }

    /// What the server leaves out: nil, where everything is as by default.
    var restricting: Permissions? { self == Permissions() ? nil : self }

    func changed(by new: RequestBody.NewPermissions) -> Permissions {
        var permissions = self
        if let roles = new.addMembers { permissions.addMembers = roles }
        if let roles = new.rename { permissions.rename = roles }
        if let roles = new.write { permissions.write = roles }
        if let roles = new.mentionAll { permissions.mentionAll = roles == .admins ? nil : roles }
        return permissions
    }
}

extension RequestBody.NewPermissions {
    func joined(by later: Self) -> Self {
        var joined = later
        joined.addMembers = later.addMembers ?? addMembers
        joined.rename = later.rename ?? rename
        joined.write = later.write ?? write
        joined.mentionAll = later.mentionAll ?? mentionAll
        return joined
    }

    /// One permission; the others stay.
    public init(_ permission: GroupPermission, _ roles: PermittedRoles) {
        switch permission {
        case .addMembers: self.init(addMembers: roles)
        case .rename: self.init(rename: roles)
        case .write: self.init(write: roles)
        case .mentionAll: self.init(mentionAll: roles)
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
        (permissions ?? Permissions())[permission]
    }

    /// Whether the user may now: a member, by their role.
    public func may(_ permission: GroupPermission) -> Bool {
        isMember && permittedRoles(permission).include(role)
    }

    /// Whether the user may send messages, and edit their own.
    public var mayWrite: Bool { may(.write) }
    /// Whether the user may mention everybody.
    public var mayMentionAll: Bool { kind == .group && mayWrite && may(.mentionAll) }
    public var mayRename: Bool { kind == .group && may(.rename) }
    public var mayAddMembers: Bool { kind == .group && may(.addMembers) }
}
