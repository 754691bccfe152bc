import Models

// Limits that one service enforces and another one publishes, or enforces too.

extension Environment {
    /// The conversations that a user may have: `store` enforces the limit, `ingest` publishes it.
    public mutating func conversationsPerUser() throws(ConfigurationError) -> Int {
        try integer("PARLEY_CONVERSATIONS_PER_USER", default: ContractLimits.conversationsPerUser, in: 10...1_000_000)
    }

    /// The members that a conversation may have: `store` enforces the limit, `ingest` publishes it, and enforces it for those
    /// a conversation is created with.
    public mutating func membersPerConversation() throws(ConfigurationError) -> Int {
        try integer(
            "PARLEY_MEMBERS_PER_CONVERSATION", default: ContractLimits.membersPerConversation,
            in: 2...ContractLimits.mostMembersPerConversation)
    }

    /// Whether a message with attachments may be replied to: `store` enforces it, `ingest` publishes it.
    public mutating func replyToAttachments() throws(ConfigurationError) -> Bool {
        try flag("PARLEY_REPLY_TO_ATTACHMENTS", default: false)
    }

    /// How many days messages stay; nil: without an end. `store` removes those that are older, `ingest` publishes it.
    public mutating func retention() throws(ConfigurationError) -> Int? {
        let days = ContractLimits.retentionDays
        guard let text = optionalString("PARLEY_RETENTION") else { return nil }
        guard text.hasSuffix("d"), let number = Int(text.dropLast()), days.contains(number) else {
            throw ConfigurationError(
                "PARLEY_RETENTION", "must be days from \(days.lowerBound)d to \(days.upperBound)d, not \"\(text)\"")
        }
        return number
    }

    /// Who has to ask before they reach a user: `store` enforces it, `ingest` publishes it.
    public mutating func messageRequests() throws(ConfigurationError) -> MessageRequests {
        try decode("PARLEY_MESSAGE_REQUESTS", default: MessageRequests.off, must: "be off or strangers") {
            MessageRequests(named: $0)
        }
    }
}

extension Problem {
    /// How many members there may be is in `GET /v1/limits`.
    public static let fullConversation = Problem(.tooLarge, "a conversation has at most membersPerConversation members")
}

/// The limits of uploads: `media` enforces them, `ingest` publishes them.
public struct MediaLimits: Sendable {
    /// The size of one file.
    public var bytes = ContractLimits.mediaBytes
    /// The pixels of a picture, in millions.
    public var megapixels = ContractLimits.megapixels
    /// The bytes that one user may upload in a day in UTC.
    public var bytesPerDay = ContractLimits.mediaBytesPerDay

    public init() {}

    public init(environment: inout Environment) throws(ConfigurationError) {
        bytes = try environment.integer("PARLEY_MEDIA_BYTES", default: bytes, in: 1...1 << 40)
        megapixels = try environment.integer("PARLEY_MEDIA_MEGAPIXELS", default: megapixels, in: 1...1_000)
        bytesPerDay = try environment.integer("PARLEY_MEDIA_BYTES_PER_DAY", default: bytesPerDay, in: 1...1 << 50)
    }
}
