import Models
import Postgres
import Wire

/// The members of a conversation by name, as of the reader's last position. A former member sees the members at the end
/// of their own stay, with the roles and receipts of that time. Readers see their own read positions, and those that
/// others show.
enum MembersStatement {
    /// Selects a page. Returns no row if the reader never was a member, and one row with no name if the page is empty.
    static let statement = Statement(
        "members", parameters: [.int2, .uuid, .text, .text, .int8],
        """
        SELECT s.* FROM \(position)
        LEFT JOIN LATERAL (
            SELECT \(columns) FROM (
                SELECT s.* FROM store.memberships s
                WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id > $4
                  AND s.joined_seq <= position.seq AND (s.left_seq IS NULL OR s.left_seq > position.seq)
                ORDER BY s.user_id LIMIT $5
            ) s \(horizons)
        ) s ON true
        WHERE position.seq IS NOT NULL
        ORDER BY s.user_id
        """)

    /// Selects one member by the last stay that the reader knows of. So a repeated addition gets its response even if
    /// the added user, or the reader, has left.
    static let single = Statement(
        "member", parameters: [.int2, .uuid, .text, .text],
        """
        SELECT \(columns) FROM \(position)
        CROSS JOIN LATERAL (
            SELECT s.* FROM store.memberships s
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $4 AND s.joined_seq <= position.seq
            ORDER BY s.joined_seq DESC LIMIT 1
        ) s \(horizons)
        """)

    private static let position = """
        (SELECT p.seq, \(FormerView.endedAt("$1", "$2", "p.seq")) AS ended_at
         FROM (SELECT \(FormerView.end("$1", "$2", "$3")) AS seq) p) position
        """

    private static let columns = """
        s.user_id, CASE WHEN position.ended_at IS NULL THEN s.role ELSE \(FormerView.role(asOf: "position.seq")) END AS role,
            s.joined_seq,
            CASE WHEN position.ended_at IS NULL THEN coalesce(h.delivered_seq, 0)
                ELSE \(FormerView.horizon(ofKind: 1, "position.seq", "position.ended_at")) END AS delivered_seq,
            CASE WHEN s.user_id = $3 THEN coalesce(h.read_seq, 0)
                WHEN position.ended_at IS NULL THEN coalesce(h.shown_seq, 0)
                ELSE \(FormerView.horizon(ofKind: 2, "position.seq", "position.ended_at")) END AS read_seq
        """

    private static let horizons = """
        LEFT JOIN receipt.published_horizons h ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
        """

    static func add(_ query: MembersQuery, to parameters: inout Parameters) {
        parameters.add(query.head.conversation.slot)
        parameters.add(query.head.conversation)
        parameters.add(query.head.reader)
        parameters.add(query.after)
        // One more row shows whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }
}
