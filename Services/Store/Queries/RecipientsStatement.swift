import Models
import Postgres

/// How far each recipient of some messages of a small conversation is, as far as others may see. The counts made from
/// it equal those of `ReceiptCounts`, which works for conversations of any size and reads no list of members.
enum RecipientsStatement {
    /// Selects the stays of all but $3 in conversation $2 of slot $1, at most $4. Returns no row if there are more
    /// members than that, or if $3 has left: then see `FormerReceipts`.
    static let statement = Statement(
        "recipients", parameters: [.int2, .uuid, .text, .int8],
        """
        SELECT s.joined_seq, coalesce(s.left_seq, \(Int64.max)), coalesce(h.delivered_seq, 0), coalesce(h.shown_seq, 0)
        FROM store.memberships s
        LEFT JOIN receipt.published_horizons h ON h.slot = $1 AND h.conversation_id = $2 AND h.user_id = s.user_id
        WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id <> $3
          AND (SELECT c.member_count <= $4 FROM store.conversations c WHERE c.slot = $1 AND c.id = $2)
          AND (SELECT true FROM store.memberships o
               WHERE o.slot = $1 AND o.conversation_id = $2 AND o.user_id = $3 AND o.left_seq IS NULL)
        LIMIT $4
        """)

    /// Adds the parameters. One stay more than the limit shows that there are more.
    static func add(
        _ conversation: ConversationID, by sender: UserID, limit: Int, to parameters: inout Parameters
    ) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(sender)
        parameters.add(Int64(limit) + 1)
    }

    /// Whether all stays are listed.
    static func isWhole(_ rows: Rows, limit: Int) -> Bool { !rows.isEmpty && rows.count <= limit }

    /// Returns the receipts of each message.
    static func count(_ rows: Rows, of messages: SentMessages) -> [Receipts] {
        ReceiptCounts.sum(rows.map { span($0, of: messages, count: 1) }, messageCount: messages.seqs.count)
    }

    /// - Parameter count: the number of equal stays.
    static func span(_ row: Row, of messages: SentMessages, count: Int) -> ReceiptCounts.Span {
        let seqs = messages.seqs
        let joined: Int64 = row[0], left: Int64 = row[1], delivered: Int64 = row[2], read: Int64 = row[3]
        return ReceiptCounts.Span(
            first: messageCount(seqs, through: joined - 1), memberEnd: messageCount(seqs, through: left),
            deliveredEnd: messageCount(seqs, through: min(left, delivered)),
            readEnd: messageCount(seqs, through: min(left, read)), count: count)
    }

    /// Returns how many of the positions, ascending, are at or before `seq`.
    private static func messageCount(_ seqs: [Int64], through seq: Int64) -> Int {
        var low = 0
        var high = seqs.count
        while low < high {
            let middle = (low + high) / 2
            if seqs[middle] <= seq { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
