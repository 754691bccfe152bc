import Models
import Postgres
import Wire

/// Who has a message, and who has read it, since when: for its sender.
enum ReceiptsStatement {
    /// A page, by user name, of the recipients who have it, and how many there are in all, in one snapshot. No row: there
    /// is no such message for this reader. A row without a name: the page is empty, or the message is not the reader's.
    ///
    /// The time of a position is that of the one run that passes it: the first one of its kinds that ends there or behind.
    /// Each name of the page costs that look-up, all others of the conversation only their place in the count.
    static let statement = Statement(
        "receipts", parameters: [.int2, .uuid, .text, .uuid, .text, .int8],
        """
        WITH \(MessageStatement.visible), recipients AS MATERIALIZED (
            SELECT s.user_id, coalesce(h.delivered_seq >= m.seq, false) AS has, coalesce(h.shown_seq >= m.seq, false) AS has_read
            FROM visible m
            JOIN store.memberships s
                ON s.slot = $1 AND s.conversation_id = $2 AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq)
                AND s.user_id <> m.sender_id
            LEFT JOIN receipt.horizons h
                ON h.slot = $1 AND h.conversation_id = $2 AND h.user_id = s.user_id
            WHERE m.sender_id = $3 AND m.kind <> 3
        )
        SELECT m.sender_id = $3 AND m.kind <> 3, count.recipients, count.delivered, count.read,
            page.user_id, page.delivered_at, page.read_at
        FROM visible m
        CROSS JOIN (
            SELECT count(*) AS recipients, count(*) FILTER (WHERE has) AS delivered,
                count(*) FILTER (WHERE has_read) AS read
            FROM recipients
        ) count
        LEFT JOIN LATERAL (
            SELECT p.user_id, (\(time(ofKinds: 1))) AS delivered_at,
                CASE WHEN p.has_read THEN (\(time(ofKinds: 2))) END AS read_at
            FROM (
                SELECT r.user_id, r.has_read FROM recipients r WHERE r.has AND r.user_id > $5
                ORDER BY r.user_id LIMIT $6
            ) p
        ) page ON true
        ORDER BY page.user_id
        """)

    /// When user `p` passed message `m`, by runs of a kind or of kind 3, which is both.
    private static func time(ofKinds kind: Int) -> String {
        func firstRun(_ kind: Int) -> String {
            """
            (SELECT r.from_seq, r.at FROM receipt.receipt_runs r
             WHERE r.slot = $1 AND r.conversation_id = $2 AND r.user_id = p.user_id AND r.kind = \(kind) AND r.to_seq >= m.seq
             ORDER BY r.to_seq LIMIT 1)
            """
        }
        return "SELECT r.at FROM (\(firstRun(kind)) UNION ALL \(firstRun(3))) r WHERE r.from_seq <= m.seq"
    }

    static func add(_ query: ReceiptsQuery, to parameters: inout Parameters) {
        MessageStatement.add(query.message, to: &parameters)
        parameters.add(query.after)
        // One more tells whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }
}
