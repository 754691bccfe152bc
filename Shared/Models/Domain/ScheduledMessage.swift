/// A message that the server keeps until its time. Its author alone sees it, on all their devices.
public struct ScheduledMessage: Hashable, Sendable, Codable {
    public var conversationId: ConversationID
    /// The id of the message that it becomes.
    public var id: MessageID
    /// The position of the private change that told of it as it is: of two states the higher one is newer.
    public var useq: Int64
    /// When it is to be sent.
    public var at: Timestamp
    public var text: String
    public var replyTo: MessageID?
    public var mentions: [UserID]
    public var mentionsAll: Bool?
    public var extra: [String: JSONValue]?
    /// Why it was not sent at its time. Nil: it waits.
    public var failure: Failure?

    public struct Failure: Hashable, Sendable, Codable {
        public var code: Open<Problem.Code>
        public var at: Timestamp

        public init(code: Problem.Code, at: Timestamp) {
            self.code = .known(code)
            self.at = at
        }
    }

    public init(
        conversationId: ConversationID, id: MessageID, useq: Int64, at: Timestamp, text: String,
        replyTo: MessageID? = nil, mentions: [UserID] = [], mentionsAll: Bool? = nil,
        extra: [String: JSONValue]? = nil, failure: Failure? = nil
    ) {
        self.conversationId = conversationId
        self.id = id
        self.useq = useq
        self.at = at
        self.text = text
        self.replyTo = replyTo
        self.mentions = mentions
        self.mentionsAll = mentionsAll
        self.extra = extra
        self.failure = failure
    }
}
