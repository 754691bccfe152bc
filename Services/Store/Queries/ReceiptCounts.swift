import Models
import Postgres

/// Counts how far the recipients of some messages of one conversation are, as far as others may see, in one pass over
/// the conversation's horizons.
///
/// A horizon never lies beyond the end of its user's last stay. So it counts for all messages before it, except those
/// from before a stay began: these, and the sender, are subtracted. Members who were there all the time, nearly all in
/// a large conversation, need no lookup. Everything is a range over the sorted positions of the messages, found by
/// binary search (`width_bucket`). Equal ranges are one row, so the work does not grow with messages times members.
///
/// During the erasure of a user, between the removal of their stays and that of their horizon, they are counted for a
/// moment.
enum ReceiptCounts {
    static let statement = Statement(
        "receipt_counts", parameters: [.int2, .uuid, .text, .array(.int8)],
        """
        SELECT first, member_end, delivered_end, read_end, sum(count)::bigint FROM (\(spans)) spans GROUP BY 1, 2, 3, 4
        """)

    /// For the messages $4, ascending, of sender $3 in conversation $2 of slot $1: `first`, `member_end`,
    /// `delivered_end`, `read_end`, `count`, as in `Span`.
    static let spans = [present, left, reached, notYet, sender].joined(separator: " UNION ALL ")

    private static let present = """
        SELECT 0 AS first, cardinality($4) AS member_end, 0 AS delivered_end, 0 AS read_end, c.member_count AS count
        FROM store.conversations c WHERE c.slot = $1 AND c.id = $2
        """

    /// Members who left after the first message and did not come back.
    private static let left = """
        SELECT 0, width_bucket(s.left_seq, $4), 0, 0, 1 FROM store.memberships s
        WHERE s.slot = $1 AND s.conversation_id = $2 AND s.left_seq >= $4[1] AND (
            SELECT true FROM store.memberships n
            WHERE n.slot = $1 AND n.conversation_id = $2 AND n.user_id = s.user_id AND n.joined_seq > s.joined_seq
            LIMIT 1) IS NULL
        """

    /// Grouped before the lookup, and cut to the messages, because most members are at the same few positions. There
    /// are two sets because these are always hashed: a sort would cost more than all the rest.
    private static let reached = """
        SELECT 0, 0, coalesce(width_bucket(delivered_seq, $4), 0), coalesce(width_bucket(shown_seq, $4), 0), count
        FROM (
            SELECT least(h.delivered_seq, (SELECT $4[cardinality($4)])) AS delivered_seq,
                CASE WHEN h.shown_seq >= (SELECT $4[1]) THEN least(h.shown_seq, (SELECT $4[cardinality($4)])) END
                    AS shown_seq,
                count(*) AS count
            FROM receipt.published_horizons h
            WHERE h.slot = $1 AND h.conversation_id = $2 AND h.delivered_seq >= (SELECT $4[1])
            GROUP BY GROUPING SETS ((1), (2))
        ) alike
        """

    /// Subtracts those who joined, or came back, after the first message, for the messages from their absence.
    private static let notYet = """
        SELECT width_bucket(coalesce(left_before, 0), $4), width_bucket(joined_seq - 1, $4),
            width_bucket(least(joined_seq - 1, coalesce(delivered_seq, 0)), $4),
            width_bucket(least(joined_seq - 1, coalesce(shown_seq, 0)), $4), -1
        FROM (
            SELECT s.joined_seq, h.delivered_seq, h.shown_seq, (
                SELECT b.left_seq FROM store.memberships b
                WHERE b.slot = $1 AND b.conversation_id = $2 AND b.user_id = s.user_id AND b.joined_seq < s.joined_seq
                ORDER BY b.joined_seq DESC LIMIT 1) AS left_before
            FROM store.memberships s
            LEFT JOIN receipt.published_horizons h ON h.slot = $1 AND h.conversation_id = $2 AND h.user_id = s.user_id
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.joined_seq > $4[1]
        ) late
        """

    private static let sender = """
        SELECT width_bucket(s.joined_seq - 1, $4), width_bucket(coalesce(s.left_seq, 9223372036854775807), $4),
            width_bucket(least(s.left_seq, coalesce(h.delivered_seq, 0)), $4),
            width_bucket(least(s.left_seq, coalesce(h.shown_seq, 0)), $4), -1
        FROM store.memberships s
        LEFT JOIN receipt.published_horizons h ON h.slot = $1 AND h.conversation_id = $2 AND h.user_id = s.user_id
        WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
        """

    /// - Parameters:
    ///   - sender: nil counts everybody.
    ///   - seqs: ascending.
    static func add(_ conversation: ConversationID, sender: UserID?, seqs: [Int64], to parameters: inout Parameters) {
        parameters.add(conversation.slot)
        parameters.add(conversation)
        parameters.add(sender?.name ?? "")
        parameters.addArray(of: .int8)
        for seq in seqs { parameters.append(seq) }
    }

    /// Stays that are counted alike, from message `first`, counted from 0, up to but not including each end. An end
    /// before `first` is an empty range. A negative count is subtracted.
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

    /// Returns the receipts of each message. They differ from those of the message before by the spans that begin and
    /// end there.
    static func sum(_ spans: [Span], messageCount: Int) -> [Receipts] {
        var steps = Array(repeating: Receipts(recipients: 0, delivered: 0, read: 0), count: messageCount + 1)
        for span in spans {
            steps[span.first].recipients += span.count
            steps[max(span.first, span.memberEnd)].recipients -= span.count
            steps[span.first].delivered += span.count
            steps[max(span.first, span.deliveredEnd)].delivered -= span.count
            steps[span.first].read += span.count
            steps[max(span.first, span.readEnd)].read -= span.count
        }
        for index in steps.indices.dropFirst() {
            steps[index].recipients += steps[index - 1].recipients
            steps[index].delivered += steps[index - 1].delivered
            steps[index].read += steps[index - 1].read
        }
        return Array(steps.dropLast())
    }
}
