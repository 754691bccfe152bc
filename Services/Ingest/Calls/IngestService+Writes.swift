import Edge
import Models
import Wire

/// The writes to a conversation other than messages, and the queries about a message.
extension IngestService {
    /// Sends a write to the store. Under an `Idempotency-Key` it is carried out once, however often it is repeated.
    func write(
        _ request: Request, _ route: Route, _ query: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let conversation = try route.conversation()
        var action = try action(route, query, request.body)
        if case .putMember(let user, let role, _) = action, let limit = exchange.peoplePerDay {
            action = .putMember(user, role, Introduction(peoplePerDay: limit))
        }
        if case .putMember(_, let role?, _) = action { exchange.act?.note(detail: role.name) }
        let write = Write(conversation, by: user, key: try IdempotencyKey.of(request[.idempotencyKey]), action)
        let size = request.body.count
        self.request(.write, in: conversation.slot, size: size, exchange, fields: { write.write(to: &$0) }) { result in
            // A tapback has a few bytes, and is told to everybody with the message that it is on, which is the response.
            if case .success(let response) = result {
                exchange.account?.charge(bytes: response.payload.bytes.count - size, at: .now)
            }
            exchange.forward(result)
        }
    }

    private func action(
        _ route: Route, _ query: QueryParameters, _ body: UnsafeRawBufferPointer
    ) throws(Problem) -> Write.Action {
        switch route.call {
        case .rename: .rename(try WriteFields.title(body, limits))
        case .unlist: .unlist
        case .putMember: .putMember(try route.member(), try WriteFields.role(body))
        case .removeMember: .removeMember(try route.member())
        case .clearHistory:
            // In `Write` zero means the latest position. Accepted from a client, it would clear changes that the client
            // never saw.
            .clearHistory(through: try query.integer("through", in: 1...QueryParameters.maximumSeq) ?? 0)
        case .putConversationSettings:
            .putSettings(readReceipts: try SettingsFields(body, areOfConversation: true).readReceipts)
        case .edit: try WriteFields.edit(of: try route.message(), body, limits)
        case .delete: try query.isForEveryone() ? .deleteForEveryone(try route.message()) : .hide(try route.message())
        case .setTapback: .setTapback(try route.message(), try WriteFields.tapback(body))
        case .removeTapback: .removeTapback(try route.message())
        case .pinMessage: .pinMessage(try route.message())
        case .unpinMessage: .unpinMessage(try route.message())
        case .vote: .vote(try route.message(), try VoteFields.options(body))
        case .closePoll: .closePoll(try route.message())
        case .putDraft: try DraftFields(body).checked(limits)
        case .removeDraft: .draft("", replyTo: nil)
        case .schedule: try ScheduleFields(body).checked(try route.chosenMessage(), limits)
        case .cancelScheduled: .cancelScheduled(try route.chosenMessage())
        case .acceptRequest: .acceptRequest
        case .declineRequest: .declineRequest
        case .putPermissions: .setPermissions(try PermissionFields(body).permissions)
        case .putLifetime: try LifetimeFields(body).action
        case .liftBan: .liftBan(try route.member())
        case .declineJoinRequest: .declineJoinRequest(try route.member())
        case .revokeInvitation: .revokeInvitation(try route.invitation())
        default: .mark(try mark(route, body))
        }
    }

    private func mark(_ route: Route, _ body: UnsafeRawBufferPointer) throws(Problem) -> Mark {
        switch route.call {
        case .mute: .muted(until: try MarkFields.mute(body))
        case .unmute: .muted(until: nil)
        case .pin: .pinned(order: try MarkFields.order(body))
        case .unpin: .pinned(order: nil)
        case .archive: .archived(through: try MarkFields.through(body))
        case .unarchive: .archived(through: nil)
        case .markUnread: .unread(true)
        case .unmarkUnread: .unread(false)
        default: preconditionFailure("\(route.call) is no write")
        }
    }

    func revisions(
        _ message: MessageID, in conversation: ConversationID, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = MessageQuery(ConversationQuery(conversation, reader: user), message: message)
        forward(.revisions, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    func receipts(
        _ message: MessageID, in conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID,
        _ exchange: Exchange
    ) throws(Problem) {
        let query = try page(of: message, in: conversation, parameters, user)
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.receipts, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func tapbacks(
        _ message: MessageID, in conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID,
        _ exchange: Exchange
    ) throws(Problem) {
        let query = try page(of: message, in: conversation, parameters, user)
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.tapbacks, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func votes(
        _ message: MessageID, in conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID,
        _ exchange: Exchange
    ) throws(Problem) {
        let option = try parameters.integer("option", in: 0...Int64(ContractLimits.pollOptions - 1))
        let query = VotesQuery(
            try page(of: message, in: conversation, parameters, user), option: option.map { Int($0) })
        let weight = try pay(exchange, items: Int(query.page.limit))
        forward(.votes, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    private func page(
        of message: MessageID, in conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID
    ) throws(Problem) -> AfterUserQuery {
        AfterUserQuery(
            MessageQuery(ConversationQuery(conversation, reader: user), message: message),
            after: try parameters.user("after"),
            limit: try parameters.limit(100, atMost: ContractLimits.membersPerPage))
    }
}
