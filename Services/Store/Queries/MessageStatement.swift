import Models
import Postgres
import Wire

/// One message as its reader sees it. Returns no row if there is none for this reader.
enum MessageStatement {
    static let statement = select("message", visible)

    /// Selects a message for a user who changed it, even if they have since hidden or cleared it. It is the response to
    /// a repeated write, and shows the outcome. Returns no row if the message is in none of this reader's stays.
    static let ofWriter = select(
        "message_of_writer",
        """
        \(stays), visible AS MATERIALIZED (
            SELECT m.* FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $4
              AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.joined_seq AND s.last_seq)
        )
        """)

    private static func select(_ name: String, _ visible: String) -> Statement {
        Statement(
            name, parameters: [.int2, .uuid, .text, .uuid],
            """
            WITH \(visible)
            SELECT \(MessageRow.columns(for: "$3", asOf: position))
            FROM visible m
            LEFT JOIN LATERAL (
                SELECT p.sender_id, \(MessageRow.text(of: "p", asOf: position)) AS body FROM store.messages p
                WHERE p.slot = $1 AND p.conversation_id = $2 AND p.seq = m.reply_seq AND p.deleted_at IS NULL
                  AND EXISTS (SELECT FROM stays s WHERE p.seq BETWEEN s.first_seq AND s.last_seq)
                  AND \(HiddenMessages.isNone(at: "p.seq", slot: "$1", conversation: "$2", reader: "$3"))
            ) parent ON true
            """)
    }

    /// CTEs: the ranges of conversation $2 in slot $1 that reader $3 sees, and message $4 if it is in one of them and
    /// not hidden.
    static let visible = """
        \(stays), visible AS MATERIALIZED (
            SELECT m.* FROM store.messages m
            WHERE m.slot = $1 AND m.conversation_id = $2 AND m.id = $4
              AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
              AND \(HiddenMessages.isNone(at: "m.seq", slot: "$1", conversation: "$2", reader: "$3"))
        )
        """

    /// The last position that the reader may see.
    static let position = "(SELECT max(last_seq) FROM stays)"

    private static let stays = """
        stays AS MATERIALIZED (
            SELECT joined_seq, greatest(joined_seq, cleared_seq + 1) AS first_seq,
                coalesce(left_seq, 9223372036854775807) AS last_seq
            FROM store.memberships
            WHERE slot = $1 AND conversation_id = $2 AND user_id = $3
        )
        """

    static func add(_ query: MessageQuery, to parameters: inout Parameters) {
        parameters.add(query.head.conversation.slot)
        parameters.add(query.head.conversation)
        parameters.add(query.head.reader)
        parameters.add(query.message)
    }
}
