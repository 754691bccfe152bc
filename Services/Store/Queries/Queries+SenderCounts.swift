import Bytes
import JSON
import Models
import Wire

// Receipts in conversations that are too large to name members.
extension Queries {
    /// `SenderCounts`
    func senderCounts(_ query: SenderCountsQuery) async throws -> [UInt8] {
        let rows = try await connection.query(SenderCountsStatement.recent) {
            SenderCountsStatement.addRecent(query.conversation, to: &$0)
        }
        guard let first = rows.first else { throw Problem(.notFound, "nothing has moved in this conversation") }
        let messages = rows.compactMap { row in
            (row[2] as Int64?).map { (seq: $0, sender: row[3] as UserID) }
        }
        let receipts = try await receipts(of: messages, in: query.conversation)
        var buffer = ByteBuffer(capacity: 4096)
        SenderCounts.writeHead(version: first[0], at: first[1], to: &buffer)
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
            batch.execute(ReceiptCounts.statement) {
                ReceiptCounts.add(conversation, sender: nil, seqs: receipts.seqs, to: &$0)
            }
            batch.execute(SenderCountsStatement.stays) {
                SenderCountsStatement.addStays(of: receipts.bySender.keys, in: conversation, to: &$0)
            }
        }
        receipts.count(ReceiptCounts.sum(ReceiptCounts.decode(results[0]), messageCount: messages.count))
        for row in results[1] {
            let joined: Int64 = row[1], left: Int64 = row[2]
            receipts.discount(row[0], stay: joined...left, delivered: row[3], read: row[4])
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
