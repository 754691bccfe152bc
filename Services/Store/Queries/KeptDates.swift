import Models
import Postgres

/// The dates that `receipt` keeps of messages in large conversations, so that a page of history need not read the runs
/// of all members. A message without a kept date may still have one: see `ReceiptDates`.
enum KeptDates {
    static let statement = Statement(
        "kept_dates", parameters: [.int2, .uuid, .array(.int8)],
        """
        SELECT k.kind, c.from_seq, c.to_seq, c.at FROM (VALUES (1::smallint), (2::smallint)) AS k (kind)
        CROSS JOIN LATERAL (
            SELECT c.from_seq, c.to_seq, c.at FROM receipt.published_completions c
            WHERE c.slot = $1 AND c.conversation_id = $2 AND c.kind = k.kind AND c.to_seq >= $3[1]
            ORDER BY c.to_seq LIMIT $3[cardinality($3)] - $3[1] + 1
        ) c
        WHERE c.from_seq <= $3[cardinality($3)] AND c.at IS NOT NULL
        """)

    /// - Parameter seqs: ascending.
    static func add(_ conversation: ConversationID, seqs: [Int64], to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.addArray(of: .int8)
        for seq in seqs { parameters.append(seq) }
    }

    static func note(_ rows: Rows, seqs: [Int64], on receipts: inout [Receipts]) {
        for row in rows {
            let kind: Int16 = row[0], from: Int64 = row[1], to: Int64 = row[2], at: Timestamp = row[3]
            let first = seqs.firstIndex { $0 >= from } ?? seqs.count
            for index in seqs[first...].indices.prefix(while: { seqs[$0] <= to }) {
                if kind == 1 { receipts[index].lastDeliveredAt = at } else { receipts[index].lastReadAt = at }
            }
        }
    }
}

extension Receipts {
    /// Whether all recipients have the message, or have read it, without a known date.
    var lacksDate: Bool { isDelivered && lastDeliveredAt == nil || isRead && lastReadAt == nil }
}
