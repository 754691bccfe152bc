import Edge
import Models
import ServiceKit
import Wire

/// Whom a user has blocked, and what they are asked about. Whether there is a user of a name is no part of any response.
extension IngestService {
    func blocks(_ user: UserID, _ exchange: Exchange) {
        let query = SettingsQuery(user)
        forward(.blocks, in: user.slot, exchange) { query.write(to: &$0) }
    }

    func requests(_ user: UserID, _ exchange: Exchange) {
        let query = SettingsQuery(user)
        forward(.requests, in: user.slot, exchange) { query.write(to: &$0) }
    }

    /// A write to the direct conversation of the two, which it closes, or opens again.
    func block(
        _ request: Request, _ other: UserID, isBlocked: Bool, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        guard other != user else { throw Problem(.invalid, "userId: nobody blocks themselves") }
        let conversation = DirectConversation.id(user, other)
        let key = try IdempotencyKey.of(request[.idempotencyKey])
        let write = Write(conversation, by: user, key: key, .block(other, isBlocked))
        forward(.write, in: conversation.slot, exchange) { write.write(to: &$0) }
    }
}
