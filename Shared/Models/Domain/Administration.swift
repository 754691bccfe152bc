/// How far the erasure of a user is, for the application's backend.
public struct Erasure: Hashable, Sendable, Codable {
    /// What was erased so far.
    public struct Counts: Hashable, Sendable, Codable {
        /// Messages whose text was erased, …
        public var messages: Int
        /// … and their former texts.
        public var revisions: Int
        public var tapbacks: Int
        /// Messages of others that mentioned the user.
        public var mentions: Int
        /// Advances of the user's delivered and read positions.
        public var receipts: Int
        /// Stays in conversations.
        public var memberships: Int
        /// Messages that the user had deleted for themselves.
        public var hidden: Int
        public var privateChanges: Int
        /// Outcomes kept for an `Idempotency-Key`.
        public var outcomes: Int
    }

    public var userId: UserID
    public var requestedAt: Timestamp
    /// Nil while it goes on.
    public var erasedAt: Timestamp?
    public var counts: Counts
}

/// Whether a service takes requests, as `/readyz` tells it.
public struct ServiceReadiness: Hashable, Sendable, Codable {
    public var ready: Bool
    /// What is missing, by its name.
    public var reasons: [String: String]
}
