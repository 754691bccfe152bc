import Models

/// Writes replies. A reply names its immediate parent, also where that is a reply itself, and shows at once.
public struct ReplyWriter: Sendable {
    private let talk: Talk

    public init(_ talk: Talk) { self.talk = talk }

    /// Throws what the server would say of a parent that cannot be replied to, before anything is shown.
    @discardableResult
    public func reply(
        to parent: Message, text: String, mentions: [UserID] = []
    ) async throws(ParleyError) -> MessageID {
        guard parent.isReplyable, parent.conversationId == talk.id else {
            throw .refused(ProblemDetails(Problem(.notReplyable, "replyTo")))
        }
        return try await talk.send(text, replyTo: parent.id, mentions: mentions)
    }
}
