import Models
import Postgres
import Wire

/// The recipients who have a message, or have read it, and since when. For its sender.
enum ReceiptsStatement {
    /// Selects a page, by user name, of the recipients who have the message, and the counts of all, in one snapshot.
    /// Returns no row if this reader sees no such message. Returns a row without a name if the page is empty, or if the
    /// reader did not send the message or is no longer a member (see `FormerReceipts`).
    ///
    /// Each name on the page costs the lookups of a stay and of two runs. The time of a position is that of the one run
    /// that passes it: the first of its kinds that ends at or after it. All others in the conversation cost one step of
    /// the counts, in which nobody is looked up (see `ReceiptCounts`; for one message, all ends are 0 or 1).
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

    /// The spans of this one message.
    private static let spans = ReceiptCounts.spans.replacing("$4", with: "(SELECT ARRAY[seq] FROM own)")

    /// The time at which user `p` passed the message, by runs `r` of a kind or of kind 3, which is both, if `condition`
    /// holds.
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
        // One more row shows whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }
}
