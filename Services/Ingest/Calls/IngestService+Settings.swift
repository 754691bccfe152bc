import Edge
import Models
import Wire

/// The settings of users.
extension IngestService {
    func settings(_ user: UserID, _ exchange: Exchange) {
        let query = SettingsQuery(user)
        forward(.settings, in: user.slot, exchange) { query.write(to: &$0) }
    }

    func settings(in conversation: ConversationID, _ user: UserID, _ exchange: Exchange) {
        let query = ConversationQuery(conversation, reader: user)
        forward(.conversationSettings, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    func putSettings(_ request: Request, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let fields = try SettingsFields(request.body, areOfConversation: false)
        let command = PutSettings(
            user, key: try IdempotencyKey.of(request[.idempotencyKey]), readReceipts: fields.readReceipts,
            presence: fields.presence)
        forward(.putSettings, in: user.slot, size: request.body.count, exchange) { command.write(to: &$0) }
    }
}
