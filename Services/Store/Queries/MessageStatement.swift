import Models
import Postgres
import Wire

/// One message as its reader sees it. No row: there is none for this reader.
enum MessageStatement {
    static let statement = Statement(
        "message", parameters: [.int2, .uuid, .text, .uuid],
        """
        WITH stays AS MATERIALIZED (
            SELECT greatest(joined_seq, cleared_seq + 1) AS first_seq, coalesce(left_seq, 9223372036854775807) AS last_seq
            FROM store.memberships
            WHERE slot = $1 AND conversation_id = $2 AND user_id = $3
        )
        SELECT \(MessageRow.columns)
        FROM store.messages m
        LEFT JOIN LATERAL (
            SELECT p.sender_id, p.body FROM store.messages p
            WHERE p.slot = $1 AND p.conversation_id = $2 AND p.seq = m.reply_seq AND p.deleted_at IS NULL
              AND EXISTS (SELECT FROM stays s WHERE p.seq BETWEEN s.first_seq AND s.last_seq)
        ) parent ON true
        WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $4
          AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
        """)

    static func add(_ query: MessageQuery, to parameters: inout Parameters) {
        parameters.add(query.head.conversation.slot)
        parameters.add(query.head.conversation)
        parameters.add(query.head.reader)
        parameters.add(query.message)
    }
}
