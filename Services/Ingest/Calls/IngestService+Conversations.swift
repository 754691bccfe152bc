import Models
import Wire

extension IngestService {
    func createConversation(
        _ body: UnsafeRawBufferPointer, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        var command = try ConversationFields.command(body, creator: user, limits: limits)
        command.introduction.peoplePerDay = exchange.peoplePerDay
        let weight = try pay(exchange, items: command.members.count)
        exchange.act?.note(command.conversation)
        forward(.createConversation, in: command.conversation.slot, size: body.count, weight: weight, exchange) {
            command.write(to: &$0)
        }
    }

    func listConversations(_ query: QueryParameters, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let list = ListConversations(
            reader: user, limit: try query.limit(50, atMost: ContractLimits.conversationsPerPage),
            before: try query.cursor())
        let weight = try pay(exchange, items: Int(list.limit))
        forward(.listConversations, in: user.slot, weight: weight, exchange) { list.write(to: &$0) }
    }

    func unreadTotal(_ user: UserID, _ exchange: Exchange) {
        let query = SettingsQuery(user)
        forward(.unreadTotal, in: user.slot, exchange) { query.write(to: &$0) }
    }

    func sync(_ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = SyncQuery(user, since: try parameters.syncCursor())
        forward(.sync, in: user.slot, exchange) { query.write(to: &$0) }
    }

    func conversation(_ conversation: ConversationID, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = ConversationQuery(conversation, reader: user)
        forward(.conversation, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    /// A page of `members`, of `bans`, or of `joinRequests`.
    func members(
        _ kind: StoreRequestKind, _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID,
        _ exchange: Exchange
    ) throws(Problem) {
        let query = MembersQuery(
            ConversationQuery(conversation, reader: user), after: try parameters.user("after"),
            limit: try parameters.limit(100, atMost: ContractLimits.membersPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(kind, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func receipts(
        _ body: UnsafeRawBufferPointer, in conversation: ConversationID, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let fields = try ReceiptFields(body)
        let signal = ReceiptSignal(
            conversation, user: user, delivered: fields.delivered ?? 0, read: fields.read ?? 0)
        forward(.signal, in: conversation.slot, exchange) { signal.write(to: &$0) }
    }
}
