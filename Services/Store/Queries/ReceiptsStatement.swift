import Models
import Postgres
import Wire

/// Who has a message, and who has read it, since when: for its sender.
enum ReceiptsStatement {
    /// A page, by user name, of the recipients who have it, and how many there are in all, in one snapshot. No row: there
    /// is no such message for this reader. A row without a name: the page is empty, or the message is not that of a reader
    /// who is a member (see `FormerReceipts`).
    ///
    /// Each name of the page costs the look-ups of a stay and of two runs: the time of a position is that of the one run
    /// that passes it, the first one of its kinds that ends there or behind. All others of the conversation cost one step
    /// of the counts, in which nobody is looked up (see `ReceiptCounts`; of one message, all ends are 0 or 1).
    static let statement = Statement(
        "receipts", parameters: [.int2, .uuid, .text, .uuid, .text, .int8],
        """
        WITH \(MessageStatement.visible), own AS MATERIALIZED (
            SELECT m.seq FROM visible m
            WHERE m.sender_id = $3 AND m.kind <> 3 AND \(MessageStatement.position) = \(Int64.max)
        )
        SELECT own.seq IS NOT NULL, count.recipients, count.delivered, count.read,
            page.user_id, page.delivered_at, page.read_at
        FROM visible m
        LEFT JOIN own ON true
        LEFT JOIN (
            SELECT coalesce(sum(count) FILTER (WHERE first < member_end), 0)::bigint AS recipients,
                coalesce(sum(count) FILTER (WHERE first < delivered_end), 0)::bigint AS delivered,
                coalesce(sum(count) FILTER (WHERE first < read_end), 0)::bigint AS read
            FROM (\(spans)) spans
        ) count ON own.seq IS NOT NULL
        LEFT JOIN LATERAL (
            SELECT p.user_id, (\(time(ofKinds: 1))) AS delivered_at,
                CASE WHEN p.shown_seq >= own.seq THEN (\(time(ofKinds: 2))) END AS read_at
            FROM (
                SELECT h.user_id, h.shown_seq FROM receipt.published_horizons h
                WHERE h.slot = $1 AND h.conversation_id = $2 AND h.user_id > $5 AND h.user_id <> $3
                  AND h.delivered_seq >= own.seq AND (
                    SELECT true FROM store.memberships s
                    WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = h.user_id
                      AND own.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, own.seq)
                    LIMIT 1)
                ORDER BY h.user_id LIMIT $6
            ) p
        ) page ON true
        ORDER BY page.user_id
        """)

    /// Of this one message.
    private static let spans = ReceiptCounts.spans.replacing("$4", with: "(SELECT ARRAY[seq] FROM own)")

    /// When user `p` passed the message, by runs `r` of a kind or of kind 3, which is both, where `condition` holds.
    static func time(ofKinds kind: Int, and condition: String = "") -> String {
        func firstRun(_ kind: Int) -> String {
            """
            (SELECT r.from_seq, r.at FROM receipt.published_receipt_runs r
             WHERE r.slot = $1 AND r.conversation_id = $2 AND r.user_id = p.user_id AND r.kind = \(kind) AND r.to_seq >= own.seq
             ORDER BY r.to_seq LIMIT 1)
            """
        }
        return
            "SELECT r.at FROM (\(firstRun(kind)) UNION ALL \(firstRun(3))) r WHERE r.from_seq <= own.seq \(condition)"
    }

    static func add(_ query: AfterUserQuery, to parameters: inout Parameters) {
        MessageStatement.add(query.message, to: &parameters)
        parameters.add(query.after)
        // One more tells whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }
}
