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

    func message(_ query: MessageQuery, by statement: Statement) async throws -> [UInt8] {
        let rows = try await connection.query(statement) { MessageStatement.add(query, to: &$0) }
        defer { extendLifetime(rows) }  // The texts lie in them.
        guard let row = rows.first, let message = MessageFields(row, conversation: query.head.conversation) else {
            throw Problem(.notFound, "there is no such message")
        }
        let receipts = try await receipts(of: [message], for: query.head.reader)
        var buffer = ByteBuffer()
        buffer.append(message, parent: ParentView(row), receipts: receipts[MessageKey(message)])
        return buffer.array
    }

    /// `{messages, hasMoreBefore, hasMoreAfter, lastSeq}`
    func history(_ query: HistoryQuery) async throws -> [UInt8] {
        let rows = try await connection.query(HistoryStatement.statement) { HistoryStatement.add(query, to: &$0) }
        guard let first = rows.first else { throw Problem.unknownConversation }
        let lastSeq = HistoryStatement.lastSeq(first)
        let whole = try await wholeMessages(HistoryStatement.seqsWithMore(rows), query.head, asOf: lastSeq)
        let found = FoundMessages(rows, whole, query.head)
        let receipts = try await receipts(of: found, query.head)
        let page = HistoryPage(HistoryBounds(query), seqs: found.seqs) { index, buffer in
            let (fields, parent) = found[index]
            buffer.append(fields, parent: parent, receipts: receipts[index])
        }
        extendLifetime(found)
        return page.json(lastSeq: lastSeq)
    }

    private func wholeMessages(_ seqs: [Int64], _ head: ConversationQuery, asOf position: Int64) async throws -> Rows? {
        guard !seqs.isEmpty else { return nil }
        return try await connection.query(WholeMessages.statement) { parameters in
            WholeMessages.add(head, seqs: seqs, asOf: position, to: &parameters)
        }
    }

    /// The receipts of those messages that the reader sent, by index.
    private func receipts(of found: FoundMessages, _ head: ConversationQuery) async throws -> [Receipts?] {
        var receipts: [Receipts?] = Array(repeating: nil, count: found.seqs.count)
        let own = receipts.indices.filter { found.hasReceipts($0) }
        guard !own.isEmpty else { return receipts }
        let sent = SentMessages(conversation: head.conversation, seqs: own.map { found.seqs[$0] })
        for (index, receipt) in zip(own, try await self.receipts(of: [sent], by: head.reader)[0]) {
            receipts[index] = receipt
        }
        return receipts
    }
}
