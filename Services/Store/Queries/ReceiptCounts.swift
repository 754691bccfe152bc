import Models
import Postgres

/// How far the recipients of some messages of one conversation are, as far as others are told, in one pass over its
/// members.
///
/// A member covers a message when one of their stays does; delivered and read end a stay early. Each stay is thus three
/// ranges over the sorted positions of the messages, found by binary search (`width_bucket`), and stays with the same
/// ranges come as one row: the work does not grow with messages times members. Members with the same positions, most of
/// them in a large conversation, are looked up together.
enum ReceiptCounts {
    static let statement = Statement(
        "receipt_counts", parameters: [.int2, .uuid, .text, .array(.int8)],
        """
        SELECT width_bucket(joined_seq - 1, $4) AS first,
            width_bucket(coalesce(left_seq, 9223372036854775807), $4) AS member_end,
            width_bucket(least(left_seq, coalesce(delivered_seq, 0)), $4) AS delivered_end,
            width_bucket(least(left_seq, coalesce(shown_seq, 0)), $4) AS read_end,
            sum(count)::bigint
        FROM (
            SELECT s.joined_seq, s.left_seq, h.delivered_seq, h.shown_seq, count(*) AS count
            FROM store.memberships s
            LEFT JOIN receipt.horizons h
                ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id <> $3
            GROUP BY 1, 2, 3, 4
        ) alike
        GROUP BY 1, 2, 3, 4
        """)

    /// `seqs` ascending. Without a sender everybody is counted.
    static func add(_ conversation: ConversationID, sender: UserID?, seqs: [Int64], to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(sender?.name ?? "")
        parameters.addArray(of: .int8)
        for seq in seqs { parameters.append(seq) }
    }

    /// Stays of one shape: from message `first`, counted from 0, up to, not including, each end.
    struct Span {
        var first: Int
        var memberEnd: Int
        var deliveredEnd: Int
        var readEnd: Int
        var count: Int
    }

    static func decode(_ rows: Rows) -> [Span] {
        rows.map { row in
            let bounds = (0..<4).map { Int(row[$0] as Int32) }
            let count: Int64 = row[4]
            return Span(
                first: bounds[0], memberEnd: bounds[1], deliveredEnd: bounds[2], readEnd: bounds[3], count: Int(count))
        }
    }

    /// The receipts of each message.
    static func sum(_ spans: [Span], messageCount: Int) -> [Receipts] {
        var receipts = Array(repeating: Receipts(recipients: 0, delivered: 0, read: 0), count: messageCount)
        for span in spans {
            for index in span.first..<max(span.first, span.memberEnd) {
                receipts[index].recipients += span.count
                if index < span.deliveredEnd { receipts[index].delivered += span.count }
                if index < span.readEnd { receipts[index].read += span.count }
            }
        }
        return receipts
    }
}
