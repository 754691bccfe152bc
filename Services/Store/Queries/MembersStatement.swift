import Models
import Postgres
import Wire

/// The members of a conversation by name, as of the reader's last position: a former member sees those of the end of
/// their stay. Readers see their own reading; of others what these show. No row: the reader never was a member. One row with no name: the page is empty.
enum MembersStatement {
    static let statement = Statement(
        "members", parameters: [.int2, .uuid, .text, .text, .int8],
        """
        SELECT s.user_id, s.role, s.joined_seq, s.delivered_seq, s.read_seq
        FROM (
            SELECT max(coalesce(r.left_seq, 9223372036854775807)) AS seq FROM store.memberships r
            WHERE r.slot = $1 AND r.conversation_id = $2 AND r.user_id = $3
        ) position
        LEFT JOIN LATERAL (
            SELECT s.user_id, s.role, s.joined_seq,
                coalesce(h.delivered_seq, 0) AS delivered_seq,
                coalesce(CASE WHEN s.user_id = $3 THEN h.read_seq ELSE h.shown_seq END, 0) AS read_seq
            FROM store.memberships s
            LEFT JOIN receipt.horizons h
                ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
            WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id > $4
              AND s.joined_seq <= position.seq AND (s.left_seq IS NULL OR s.left_seq > position.seq)
            ORDER BY s.user_id LIMIT $5
        ) s ON true
        WHERE position.seq IS NOT NULL
        ORDER BY s.user_id
        """)

    /// One member by their last stay, whoever asks: the repetition of an addition is answered, though they have left.
    static let single = Statement(
        "member", parameters: [.int2, .uuid, .text],
        """
        SELECT s.user_id, s.role, s.joined_seq, coalesce(h.delivered_seq, 0), coalesce(h.shown_seq, 0)
        FROM store.memberships s
        LEFT JOIN receipt.horizons h
            ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
        WHERE s.slot = $1 AND s.conversation_id = $2 AND s.user_id = $3
        ORDER BY s.joined_seq DESC LIMIT 1
        """)

    static func add(_ query: MembersQuery, to parameters: inout Parameters) {
        parameters.add(query.head.conversation.slot)
        parameters.add(query.head.conversation)
        parameters.add(query.head.reader)
        parameters.add(query.after)
        // One more tells whether there are more.
        parameters.add(Int64(query.limit) + 1)
    }
}
