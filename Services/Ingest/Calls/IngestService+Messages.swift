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
        ask(
            .sendMessages, in: conversation.slot, size: body.count, exchange,
            fields: { buffer in
                SendMessages.writeHead(conversation, user, count: 1, to: &buffer)
                message.write(to: &buffer)
            },
            answered: { result in
                switch result {
                case .success(let answer): exchange.passOnly(answer)
                case .failure(let problem): exchange.answer(problem)
                }
            })
    }

    func history(
        _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = HistoryQuery(
            ConversationQuery(conversation, reader: user), anchor: try parameters.anchor(),
            limit: try parameters.limit(50, atMost: ContractLimits.messagesPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        ask(.history, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func message(
        _ message: MessageID, in conversation: ConversationID, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = MessageQuery(ConversationQuery(conversation, reader: user), message: message)
        ask(.message, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    func search(_ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let query = SearchQuery(
            reader: user, conversation: try parameters.conversation(), before: try parameters.searchCursor(),
            limit: try parameters.limit(20, atMost: ContractLimits.resultsPerPage), text: try parameters.words())
        ask(.search, in: query.slot, exchange) { query.write(to: &$0) }
    }

    func changes(
        _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = ChangesQuery(
            ConversationQuery(conversation, reader: user),
            after: try parameters.integer("after", in: 0...QueryParameters.maximumSeq) ?? 0,
            limit: try parameters.limit(200, atMost: ContractLimits.changesPerPage))
        let weight = try pay(exchange, items: Int(query.limit))
        ask(.changes, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }

    func digest(
        _ conversation: ConversationID, _ parameters: QueryParameters, _ user: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let query = DigestQuery(
            ConversationQuery(conversation, reader: user),
            after: try parameters.integer("after", in: 0...QueryParameters.maximumSeq) ?? 0,
            limit: try parameters.limit(ContractLimits.pagesPerDigest, atMost: ContractLimits.pagesPerDigest))
        let weight = try pay(exchange, items: Int(query.limit))
        ask(.digest, in: conversation.slot, weight: weight, exchange) { query.write(to: &$0) }
    }
}

extension Exchange {
    /// The answer to `sendMessages` for the one message that was sent.
    fileprivate func passOnly(_ answer: Answer) {
        guard answer.status < 400 else { return pass(status: answer.status, answer.payload.bytes) }
        var reader = ByteReader(answer.payload.bytes)
        do throws(WireError) {
            let (status, body) = try SendAnswer.next(from: &reader)
            pass(status: status, body)
        } catch {
            self.answer(.answerNotUnderstood)
        }
    }
}
