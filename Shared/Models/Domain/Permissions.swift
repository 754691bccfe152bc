/// Who may do what in a group. Its owners decide.
public struct Permissions: Hashable, Sendable, Codable {
    /// Who may add members.
    public var addMembers: Open<PermittedRoles>
    /// Who may change the title.
    public var rename: Open<PermittedRoles>
    /// Who may send messages, and edit their own.
    public var write: Open<PermittedRoles>
    /// Who may mention everybody. Nil: admins and owners.
    public var mentionAll: Open<PermittedRoles>?

    public init(
        addMembers: PermittedRoles = .members, rename: PermittedRoles = .members, write: PermittedRoles = .members,
        mentionAll: PermittedRoles = .admins
    ) {
        self.addMembers = .known(addMembers)
        self.rename = .known(rename)
        self.write = .known(write)
        self.mentionAll = mentionAll == .admins ? nil : .known(mentionAll)
    }
}

/// A user who was removed from a group, and whom only owners and admins bring back.
public struct Ban: Hashable, Sendable, Codable {
    public var userId: UserID
    /// When they were removed.
    public var at: Timestamp
    /// Who removed them.
    public var actorId: UserID

    public init(userId: UserID, at: Timestamp, actorId: UserID) {
        self.userId = userId
        self.at = at
        self.actorId = actorId
    }
}
