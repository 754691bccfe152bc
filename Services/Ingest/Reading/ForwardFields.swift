import JSON
import Models

/// What a client forwards: `{conversationId, messageId, origin?}`.
struct ForwardFields {
    let conversation: ConversationID
    let message: MessageID
    /// Whether the message is to show who wrote it. Where nothing is said it does not: nobody is named by mistake.
    let showsOrigin: Bool

    private static let keys: JSONKeys = ["conversationId", "messageId", "origin"]

    init(from reader: inout JSONReader) throws(JSONError) {
        var conversation: ConversationID?
        var message: MessageID?
        var origin = false
        var given = JSONKeys.Given()
        try reader.beginObject()
        while let key = try reader.nextKey(of: Self.keys, &given) {
            switch key {
            case "conversationId": conversation = ConversationID(try reader.wellFormedUUID())
            case "messageId": message = MessageID(try reader.wellFormedUUID())
            case "origin": origin = try reader.consumeNull() ? false : try reader.bool()
            default: try reader.skip()
            }
        }
        guard let conversation, let message else {
            throw reader.failure(.expected("a message with its conversationId and messageId"), at: reader.offset - 1)
        }
        (self.conversation, self.message, showsOrigin) = (conversation, message, origin)
    }
}
