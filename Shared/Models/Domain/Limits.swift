/// The limits in force in a deployment, as `GET /v1/limits` tells them: those of `ContractLimits`, some of which it may
/// set smaller, and its own.
public struct Limits: Hashable, Sendable, Codable {
    /// Bytes of UTF-8 of one message's text.
    public var textBytes: Int
    /// Bytes of a request's body, but for a batch.
    public var bodyBytes: Int
    public var batchBytes: Int
    public var batchMessages: Int
    public var membersPerRequest: Int
    public var membersPerConversation: Int
    /// In one user's list, those they have left included.
    public var conversationsPerUser: Int
    /// Unicode scalars.
    public var titleCharacters: Int
    public var mentionsPerMessage: Int
    /// A page ends when it is so large.
    public var pageBytes: Int
    public var conversationsPerPage: Int
    public var membersPerPage: Int
    public var messagesPerPage: Int
    public var changesPerPage: Int
    public var pagesPerDigest: Int
    /// After `createdAt`.
    public var editWindowSeconds: Int
    /// Bytes of a WebSocket message from a client …
    public var frameBytes: Int
    /// … and of its first.
    public var helloBytes: Int
    /// A gap of more changes is not replayed.
    public var replayChanges: Int
    /// Open WebSockets of one user on one fanout.
    public var sessionsPerUser: Int
    public var framesPerSecond: Int
    public var frameBurst: Int
    public var receiptsPerSecond: Int
    /// What one user may take in a second, by `costs`, …
    public var costPerSecond: Int
    /// … at once after a rest, …
    public var costBurst: Int
    /// … and in flight.
    public var costInFlight: Int
    /// Bytes of the bodies of one user's requests in flight.
    public var bytesInFlight: Int
    /// By the call's name (`operationId`); what is not named costs 1.
    public var costs: [String: Cost]

    /// Of one call.
    public struct Cost: Hashable, Sendable, Codable {
        public var base: Int
        public var perHundredItems: Int?
        /// How many of one user's are answered at a time.
        public var atOnce: Int?
    }
}
