import Models
import Postgres
import Wire

/// The texts of a message and its tapbacks, for readers who see the message.
enum RevisionsStatement {
    /// Selects one row per text, oldest first, the present one last. Returns no row if this reader sees no such
    /// message, or it was deleted for everyone. A former member sees the texts up to their removal.
    static let statement = Statement(
        "revisions", parameters: [.int2, .uuid, .text, .uuid],
        """
        WITH \(MessageStatement.visible)
        SELECT t.body, t.at FROM (
            SELECT u.*, lag(u.replaced_seq, 1, 0::bigint) OVER (ORDER BY u.replaced_seq) AS came_seq
            FROM visible m, LATERAL (
                SELECT r.body, r.at, r.replaced_seq FROM store.revisions r
                WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $4
                UNION ALL
                SELECT m.body, coalesce(m.edited_at, m.created_at), 9223372036854775807
            ) u
            WHERE m.body IS NOT NULL
        ) t
        WHERE t.came_seq <= \(MessageStatement.position)
        ORDER BY t.replaced_seq
        """)
}

enum TapbacksStatement {
    /// Selects a page of tapbacks by user name, and the count of each kind (JSON). Returns no row if this reader sees
    /// no such message, and one row without a user if the page is empty.
    static let statement = Statement(
        "tapbacks", parameters: [.int2, .uuid, .text, .uuid, .text, .int8],
        """
        WITH \(MessageStatement.visible)
        SELECT t.user_id, t.kind, t.at, (
            SELECT coalesce(json_object_agg(k.kind, k.count)::text, '{}') FROM (
                SELECT r.kind, count(*) AS count FROM store.tapbacks r
                WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $4
                  AND r.seq <= \(MessageStatement.position)
                GROUP BY r.kind
            ) k
        )
        FROM visible m LEFT JOIN LATERAL (
            SELECT r.user_id, r.kind, r.at FROM store.tapbacks r
            WHERE r.slot = $1 AND r.conversation_id = $2 AND r.message_id = $4 AND r.user_id > $5
              AND r.seq <= \(MessageStatement.position)
            ORDER BY r.user_id LIMIT $6
        ) t ON true
        ORDER BY t.user_id
        """)
}
