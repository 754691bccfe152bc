import Edge
import Models
import ServiceKit
import Wire

/// Invitations. What has a code looks everything up in the slot of its conversation.
extension IngestService {
    /// Repeated by its id, not under a key: what was told once is not kept, so a repetition gets another code.
    func createInvitation(
        _ body: UnsafeRawBufferPointer, in conversation: ConversationID, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let code = InvitationCode(for: conversation, from: &random)
        let invitation = try InvitationFields(body).invitation(secret: code.secret)
        write(Write(conversation, by: user, key: nil, .createInvitation(invitation)), exchange)
    }

    func invitations(in conversation: ConversationID, _ user: UserID, _ exchange: Exchange) {
        let query = ConversationQuery(conversation, reader: user)
        forward(.invitations, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    func invitation(_ code: InvitationCode, _ user: UserID, _ exchange: Exchange) {
        let query = InvitationQuery(ConversationQuery(code.conversation, reader: user), secret: code.secret)
        forward(.invitation, in: code.conversation.slot, exchange) { query.write(to: &$0) }
    }

    func join(_ request: Request, _ code: InvitationCode, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let key = try IdempotencyKey.of(request[.idempotencyKey])
        write(Write(code.conversation, by: user, key: key, .join(secret: code.secret)), exchange)
    }

    private func write(_ write: Write, _ exchange: Exchange) {
        forward(.write, in: write.conversation.slot, size: exchange.bodyBytes, exchange) { write.write(to: &$0) }
    }
}
