import Bytes
import JSON
import Models
import Postgres
import Wire

// Messages as their readers see them.
extension Queries {
    /// `Message`
    func message(_ query: MessageQuery) async throws -> [UInt8] {
        let rows = try await connection.query(MessageStatement.statement) { MessageStatement.add(query, to: &$0) }
        guard let row = rows.first, let message = MessageFields(row, conversation: query.head.conversation) else {
            throw Problem(.notFound, "there is no such message")
        }
        let receipts = try await receipts(of: [message], for: query.head)
        var buffer = ByteBuffer()
        buffer.append(message, parent: ParentView(row), receipts: receipts[message.seq])
        return buffer.array
    }

    /// `{messages, hasMoreBefore, hasMoreAfter, lastSeq}`
    func history(_ query: HistoryQuery) async throws -> [UInt8] {
        let rows = try await connection.query(HistoryStatement.statement) { HistoryStatement.add(query, to: &$0) }
        guard let first = rows.first else { throw Problem.unknownConversation }
        let found = rows.compactMap { row in
            MessageFields(row, conversation: query.head.conversation).map { (message: $0, parent: ParentView(row)) }
        }
        let receipts = try await receipts(of: found.map(\.message), for: query.head)
        let page = HistoryPage(HistoryBounds(query), seqs: found.map(\.message.seq)) { index in
            var encoded = ByteBuffer(capacity: 1024)
            let (message, parent) = found[index]
            encoded.append(message, parent: parent, receipts: receipts[message.seq])
            return encoded.array
        }
        return page.json(lastSeq: HistoryStatement.lastSeq(first))
    }

    /// The receipts of those messages that the reader sent, by `seq`.
    func receipts(of messages: [MessageFields], for head: ConversationQuery) async throws -> [Int64: Receipts] {
        let own = messages.filter { $0.sender == head.reader && $0.kind != .system }.map(\.seq).sorted()
        guard !own.isEmpty else { return [:] }
        let rows = try await connection.query(ReceiptCounts.statement) {
            ReceiptCounts.add(head.conversation, sender: head.reader, seqs: own, to: &$0)
        }
        let receipts = ReceiptCounts.sum(ReceiptCounts.decode(rows), messageCount: own.count)
        return Dictionary(uniqueKeysWithValues: zip(own, receipts))
    }
}
