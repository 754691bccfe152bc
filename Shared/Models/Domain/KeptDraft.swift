/// What a user has written in a conversation and not sent, as the server keeps it for their devices. Nobody else sees it.
public struct KeptDraft: Hashable, Sendable, Codable {
    public var text: String
    /// The message that it replies to, which need not be there any more.
    public var replyTo: MessageID?
    /// When the server got it.
    public var at: Timestamp

    public init(text: String, replyTo: MessageID? = nil, at: Timestamp) {
        self.text = text
        self.replyTo = replyTo
        self.at = at
    }
}
