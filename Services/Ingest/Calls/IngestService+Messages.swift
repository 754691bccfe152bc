import Bus
import Bytes
import Models
import ServiceKit
import Wire

extension IngestService {
    func send(
        _ body: UnsafeRawBufferPointer, to conversation: ConversationID, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let message = try MessageFields(body, limits: limits, now: .now)
        if let forward = message.forward {
            return send(
                message, forwarding: forward, to: conversation, user, size: body.count, exchange,
                completion: { exchange.forwardOnly($0) })
        }
        guard message.isPlain else {
            return send(
                WholeMessages([message], to: conversation, by: user), in: conversation.slot, of: user,
                size: body.count, weight: nil, exchange, completion: { exchange.forwardOnly($0) })
        }
        request(
            .sendMessages, in: conversation.slot, size: body.count, exchange,
            fields: { buffer in
                SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
                message.write(to: &buffer)
            },
            completion: { exchange.forwardOnly($0) })
    }

    func history(
        _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = HistoryQuery(
            ConversationQuery(conversation, reader: user), anchor: try parameters.anchor(),
            limit: try parameters.limit(50, atMost: ContractLimits.messagesPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.history, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func pinnedMessages(
        in conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = PinnedMessagesQuery(
            ConversationQuery(conversation, reader: user),
            before: try parameters.integer("before", in: 1...QueryParameters.maximumSeq) ?? QueryParameters.maximumSeq,
            limit: try parameters.limit(50, atMost: Int64(ContractLimits.pinnedMessages)))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.pinnedMessages, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func mentions(
        in conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = AfterPositionQuery(
            ConversationQuery(conversation, reader: user), after: try parameters.after(),
            limit: try parameters.limit(50, atMost: ContractLimits.mentionsPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.mentions, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func scheduled(_ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = ScheduledQuery(
            user, in: try parameters.conversation(),
            after: try parameters.after(),
            limit: try parameters.limit(50, atMost: ContractLimits.scheduledPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.scheduled, in: user.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func message(
        _ message: MessageID, in conversation: ConversationID, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = MessageQuery(ConversationQuery(conversation, reader: user), message: message)
        forward(.message, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    func search(_ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = SearchQuery(
            reader: user, conversation: try parameters.conversation(), before: try parameters.searchCursor(),
            limit: try parameters.limit(20, atMost: ContractLimits.resultsPerPage), text: try parameters.words())
        forward(.search, in: query.slot, exchange) { query.write(to: &$0) }
    }

    func changes(
        _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = AfterPositionQuery(
            ConversationQuery(conversation, reader: user), after: try parameters.after(),
            limit: try parameters.limit(200, atMost: ContractLimits.changesPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.changes, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func digest(
        _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = AfterPositionQuery(
            ConversationQuery(conversation, reader: user), after: try parameters.after(),
            limit: try parameters.limit(ContractLimits.pagesPerDigest, atMost: ContractLimits.pagesPerDigest))
        let weight = try pay(exchange, items: Int(query.limit))
        forward(.digest, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }
}

extension Exchange {
    /// Forwards the response to `sendMessages` with a single message.
    fileprivate func forwardOnly(_ result: Result<BusResponse, Problem>) {
        switch result {
        case .success(let response): forwardOnly(response)
        case .failure(let problem): respond(problem)
        }
    }

    private func forwardOnly(_ response: BusResponse) {
        guard response.status < 400 else { return forward(status: response.status, response.payload.bytes) }
        var reader = ByteReader(response.payload.bytes)
        do throws(WireError) {
            let (status, body) = try SendResponse.next(from: &reader)
            forward(status: status, body)
        } catch {
            respond(.unreadableResponse)
        }
    }
}
