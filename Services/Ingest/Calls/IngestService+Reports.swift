import Edge
import Models
import Wire

/// Reports of users to the administrators. Each stands in the slot of its conversation.
extension IngestService {
    func createReport(_ body: UnsafeRawBufferPointer, _ user: UserID, _ exchange: Exchange) throws(Problem) {
        let fields = try ReportFields(body)
        let conversation = try fields.conversation()
        exchange.act?.note(conversation)
        write(.report(try fields.report()), in: conversation, by: user, exchange)
    }

    func report(
        _ report: ReportID, in conversation: ConversationID, _ administrator: UserID, _ exchange: Exchange
    ) {
        let query = ReportQuery(ConversationQuery(conversation, reader: administrator), report: report)
        forward(.report, in: conversation.slot, exchange) { query.write(to: &$0) }
    }

    func resolve(
        _ report: ReportID, in conversation: ConversationID, _ body: UnsafeRawBufferPointer, _ administrator: UserID,
        _ exchange: Exchange
    ) throws(Problem) {
        let resolution = try ResolutionFields(body).resolution(of: report)
        exchange.act?.note(detail: resolution.action.name)
        write(.resolveReport(resolution), in: conversation, by: administrator, exchange)
    }

    func putRetention(
        in conversation: ConversationID, _ body: UnsafeRawBufferPointer, _ administrator: UserID, _ exchange: Exchange
    ) throws(Problem) {
        let days = try RetentionFields(body).days
        if let days { exchange.act?.note(number: Int(days)) }
        write(.setRetention(days: days), in: conversation, by: administrator, exchange)
    }

    /// Repeated as it is: not under a key.
    private func write(
        _ action: Write.Action, in conversation: ConversationID, by user: UserID, _ exchange: Exchange
    ) {
        let write = Write(conversation, by: user, key: nil, action)
        forward(.write, in: conversation.slot, size: exchange.bodyBytes, exchange) { write.write(to: &$0) }
    }

    func reports(_ query: QueryParameters, _ administrator: UserID, _ exchange: Exchange) throws(Problem) {
        let page = ReportQueuePage(
            after: try query.reportCursor(),
            limit: Int(try query.limit(ContractLimits.reportsPerPage, atMost: ContractLimits.reportsPerPage)))
        ReportsCall(self, administrator, areOpen: try query.areOpen(), page, exchange).begin()
    }
}
