import Bytes
import JSON
import Models
import Postgres
import Wire

// Receipts in conversations that are too large to name members.
extension Queries {
    /// `SenderCounts`
    func senderCounts(_ query: SenderCountsQuery) async throws -> [UInt8] {
        let rows = try await connection.query(SenderCountsStatement.recent) { parameters, input in
            SenderCountsStatement.set(query.conversation, of: input, in: &parameters)
        }
        let columns = SenderCountsStatement.recent.columns
        guard let first = rows.first else { throw Problem(.notFound, "nothing has moved in this conversation") }
        let messages = rows.compactMap { row in
            row[columns.seq].map { (seq: $0, sender: row[columns.senderId]) }
        }
        let receipts = try await receipts(of: messages, in: query.conversation)
        var buffer = ByteBuffer(capacity: 4096)
        SenderCounts.writeHead(version: first[columns.statusVersion], at: first[columns.lastAt], to: &buffer)
        for sender in receipts.bySender.keys {
            SenderCounts.writeEntry(sender, to: &buffer) { $0.append(receipts, of: sender) }
        }
        return buffer.array
    }

    private func receipts(
        of messages: [(seq: Int64, sender: UserID)], in conversation: ConversationID
    ) async throws -> SenderReceipts {
        var receipts = SenderReceipts(messages)
        guard !messages.isEmpty else { return receipts }
        let results = try await connection.transaction { batch in
            ReceiptCounts.add(SentMessages(conversation: conversation, seqs: receipts.seqs), by: nil, to: &batch)
            SenderCountsStatement.addStays(of: receipts.bySender.keys, in: conversation, to: &batch)
        }
        receipts.count(ReceiptCounts.sum(ReceiptCounts.decode(results[0]), messageCount: messages.count))
        let columns = SenderCountsStatement.stays.columns
        for row in results[1] {
            receipts.discount(
                row[columns.userId], stay: row[columns.joinedSeq]...row[columns.leftSeq],
                delivered: row[columns.deliveredSeq], read: row[columns.shownSeq])
        }
        return receipts
    }
}

extension ByteBuffer {
    /// `[{seq, deliveredCount, readCount}…]`
    fileprivate mutating func append(_ receipts: SenderReceipts, of sender: UserID) {
        beginArray()
        for index in receipts.bySender[sender] ?? [] {
            beginElement()
            beginObject()
            append(key: "seq", json: receipts.seqs[index])
            append(key: "deliveredCount", json: receipts.receipts[index].delivered)
            append(key: "readCount", json: receipts.receipts[index].read)
            endObject()
        }
        endArray()
    }
}
