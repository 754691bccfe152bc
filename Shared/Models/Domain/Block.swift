/// Whom a user has blocked, by name.
public struct BlockList: Hashable, Sendable, Codable {
    public var users: [BlockedUser]

    public init(users: [BlockedUser]) { self.users = users }
}

/// A user whom the caller has blocked.
public struct BlockedUser: Hashable, Sendable, Codable {
    public var userId: UserID
    /// Since when.
    public var at: Timestamp

    public init(userId: UserID, at: Timestamp) {
        self.userId = userId
        self.at = at
    }
}
