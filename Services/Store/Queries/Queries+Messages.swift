import Bytes
import JSON
import Models
import Postgres
import Wire

// Messages as their readers see them.
extension Queries {
    /// `Message`
    func message(_ query: MessageQuery) async throws -> [UInt8] {
        try await message(query, by: MessageStatement.statement)
    }

    func message(_ query: MessageQuery, by statement: MessageStatement.Single) async throws -> [UInt8] {
        let rows = try await connection.query(statement) { $0.set($1, to: query) }
        let columns = statement.columns
        defer { extendLifetime(rows) }  // The texts point into them.
        guard let row = rows.first,
            let message = MessageFields(row, columns.message, in: query.head.conversation)
        else {
            throw Problem(.notFound, "there is no such message")
        }
        return try await json(message, parent: ParentView(row, columns), for: query.head.reader)
    }

    /// The same of a message that its reader has just written to.
    func json(_ written: WrittenMessage, for reader: UserID) async throws -> [UInt8] {
        defer { extendLifetime(written) }  // Its texts point into its rows.
        return try await json(written.fields, parent: .unavailable, for: reader)
    }

    private func json(_ message: MessageFields, parent: ParentView, for reader: UserID) async throws -> [UInt8] {
        let receipts = try await receipts(of: [message], for: reader)
        var buffer = ByteBuffer()
        buffer.append(message, parent: parent, receipts: receipts[MessageKey(message)])
        return buffer.array
    }

    /// `{messages, hasMoreBefore, hasMoreAfter, lastSeq}`
    func history(_ query: HistoryQuery) async throws -> [UInt8] {
        let bounds = HistoryBounds(query)
        let rows = try await rows(bounds, query.head)
        let found = FoundMessages(rows, try await wholeMessages(rows, query.head), query.head)
        let receipts = try await receipts(of: found, query.head, rows.recipients)
        let page = HistoryPage(bounds, seqs: found.seqs) { found.append($0, receipts[$0], to: &$1) }
        return page.json(lastSeq: rows.position)
    }

    private func rows(_ bounds: HistoryBounds, _ head: ConversationQuery) async throws -> HistoryRows {
        let results = try await connection.transaction { batch in
            HistoryRows.add(head, bounds, to: &batch)
            RecipientsStatement.add(head.conversation, by: head.reader, limit: recipientLimit, to: &batch)
        }
        if let rows = HistoryRows(results) { return rows }
        let rows = try await connection.query(HistoryStatement.statement) { parameters, input in
            HistoryStatement.set(head, bounds, of: input, in: &parameters)
        }
        guard let rows = HistoryRows(rows) else { throw Problem.unknownConversation }
        return rows
    }

    private func wholeMessages(_ rows: HistoryRows, _ head: ConversationQuery) async throws -> Rows? {
        let seqs = rows.seqsWithMore
        guard !seqs.isEmpty else { return nil }
        return try await connection.query(WholeMessages.statement) { parameters, input in
            WholeMessages.set(head, seqs: seqs, asOf: rows.position, of: input, in: &parameters)
        }
    }

    /// The receipts of the messages that the reader sent, by index.
    private func receipts(
        of found: FoundMessages, _ head: ConversationQuery, _ recipients: Rows?
    ) async throws -> [Receipts?] {
        var receipts: [Receipts?] = Array(repeating: nil, count: found.seqs.count)
        let own = receipts.indices.filter { found.hasReceipts($0) }
        guard !own.isEmpty else { return receipts }
        let sent = SentMessages(conversation: head.conversation, seqs: own.map { found.seqs[$0] })
        let receiptsOfOwn = try await self.receipts(of: [sent], by: head.reader, recipients.map { [$0] })[0]
        for (index, receipt) in zip(own, receiptsOfOwn) { receipts[index] = receipt }
        return receipts
    }
}
