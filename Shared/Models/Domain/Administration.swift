/// The progress of a user's erasure, for the application's backend.
public struct Erasure: Hashable, Sendable, Codable {
    /// The items erased so far.
    public struct Counts: Hashable, Sendable, Codable {
        /// Messages whose text was erased.
        public var messages: Int
        /// Former texts of these messages.
        public var revisions: Int
        public var tapbacks: Int
        /// In polls of others.
        public var votes: Int
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
    /// Nil while the erasure is in progress.
    public var erasedAt: Timestamp?
    public var counts: Counts
}

/// What became of a line of an import.
public struct ImportResult: Hashable, Sendable, Codable {
    /// The number of the line in the request, from 1. Empty lines count.
    public var line: Int
    /// 200 if it is stored, now or before; otherwise that of the problem.
    public var status: Int
    public var problem: ProblemDetails?

    public init(line: Int, status: Int, problem: ProblemDetails? = nil) {
        self.line = line
        self.status = status
        self.problem = problem
    }
}

extension Problem {
    /// What comes to an imported conversation after its `end`.
    public static let importHasEnded = Problem(
        .conflict, "conversationId: the import of this conversation has ended, or is being dropped")
}

/// Whether a service accepts requests, as reported by `/readyz`.
public struct ServiceReadiness: Hashable, Sendable, Codable {
    public var ready: Bool
    /// The reasons why it does not, by the name of what is missing.
    public var reasons: [String: String]
}
