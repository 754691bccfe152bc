import Models
import Postgres
import Wire

/// What a search asks the database. A search over all conversations of a reader fans out over slots, like their list.
enum SearchStatements {
    /// The stretches of conversations that the reader sees, latest activity first. No row: none, or no such conversation.
    static let allStays = stays(
        "search_stays", parameters: [.text, .int2], where: "i.user_slot = $2 AND i.user_id = $1")

    static let staysOfOne = stays(
        "search_stays_of_one", parameters: [.text, .int2, .int2, .uuid],
        where: "i.user_slot = $2 AND i.user_id = $1 AND i.slot = $3 AND i.conversation_id = $4")

    private static func stays(_ name: String, parameters: [PostgresType], where condition: String) -> Statement {
        Statement(
            name, parameters: parameters,
            """
            SELECT c.id, greatest(s.joined_seq, s.cleared_seq + 1), least(c.last_seq, s.left_seq), coalesce(p.indexed_seq, 0), c.last_at,
                max(coalesce(s.left_seq, 9223372036854775807)) OVER (PARTITION BY c.slot, c.id)
            FROM store.inbox i
            JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
            JOIN store.memberships s ON s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = i.user_id
            LEFT JOIN store.search_progress p ON p.slot = i.slot AND p.conversation_id = i.conversation_id
            WHERE \(condition)
            ORDER BY c.last_at DESC, c.id DESC, s.joined_seq DESC
            """)
    }

    /// $1 reader · stretches: $2 slots · $3 conversations · $4 first · $5 last positions · before: $6 time · $7 conversation ·
    /// $8 position · $9 limit · $10 the last positions that the reader may see of these conversations, whose texts are
    /// those of then.
    private static let commonParameters: [PostgresType] = [
        .text, .array(.int2), .array(.uuid), .array(.int8), .array(.int8), .timestamptz, .uuid, .int8, .int8,
        .array(.int8),
    ]

    /// What is to be looked through, newest first: what is not in the index yet, and what has got another text there since
    /// the reader left. $11 how far the conversations are indexed.
    ///
    /// A message is edited within minutes, so what comes long after the reader left is not looked at for that.
    static let unindexed = Statement(
        "search_tail", parameters: commonParameters + [.array(.int8)],
        """
        SELECT m.created_at, m.conversation_id, m.seq, \(MessageRow.text(of: "m", asOf: "s.position"))
        FROM unnest($2::smallint[], $3::uuid[], $4::bigint[], $5::bigint[], $10::bigint[], $11::bigint[])
            AS s(slot, conversation_id, first_seq, last_seq, position, indexed_seq)
        CROSS JOIN LATERAL (
            (SELECT m.* FROM store.messages m
             WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.seq > s.indexed_seq
               AND m.seq BETWEEN s.first_seq AND s.last_seq
             ORDER BY m.seq DESC LIMIT $9)
            UNION ALL
            (SELECT m.* FROM (
                SELECT DISTINCT h.message_id FROM (
                    SELECT h.message_id, h.kind FROM store.changes h
                    WHERE h.slot = s.slot AND h.conversation_id = s.conversation_id
                      AND h.seq > least(s.indexed_seq, s.position)
                    ORDER BY h.seq LIMIT $9
                ) h
                WHERE h.kind = \(ChangeKind.messageEdited.rawValue)
             ) h
             JOIN store.messages m ON m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.id = h.message_id
             WHERE m.seq <= s.indexed_seq AND m.seq BETWEEN s.first_seq AND s.last_seq)
        ) m
        WHERE m.body IS NOT NULL AND \(isBefore("m.created_at", "m.seq")) AND \(isNotHidden("m.seq"))
        ORDER BY m.created_at DESC, m.conversation_id DESC, m.seq DESC LIMIT $9
        """)

    /// By words. $11 a `tsquery` with `~` for the name of the block · $12 patterns that all must hold.
    static let words = indexed(
        "search_words", more: [.text, .array(.text)],
        """
        t.words @@ replace($11, '~', store.search_block(s.conversation_id, block.number << 10))::tsquery
        """)

    /// By parts of words. $11 the pattern to find by · $12 patterns that all must hold.
    static let parts = indexed(
        "search_parts", more: [.text, .array(.text)],
        """
        store.search_block(t.conversation_id, t.seq) = store.search_block(s.conversation_id, block.number << 10)
            AND t.text LIKE $11
        """)

    /// Goes through the blocks of each stretch from the newest on, no further than there are enough results. The nested
    /// loops keep that order, which no ORDER BY says: with one, every block would be read. `IS NOT DISTINCT FROM` keeps
    /// the planner from reading whole conversations by the table's key.
    private static func indexed(_ name: String, more: [PostgresType], _ condition: String) -> Statement {
        Statement(
            name, parameters: commonParameters + more,
            """
            SELECT f.at, f.conversation_id, f.seq
            FROM unnest($2::smallint[], $3::uuid[], $4::bigint[], $5::bigint[], $10::bigint[])
                AS s(slot, conversation_id, first_seq, last_seq, position)
            CROSS JOIN LATERAL (
                SELECT b.* FROM generate_series(s.last_seq >> 10, s.first_seq >> 10, -1) AS block(number)
                CROSS JOIN LATERAL (
                    SELECT t.* FROM (
                        SELECT t.at, t.conversation_id, t.seq, t.text FROM store.search_texts t
                        WHERE \(condition)
                          AND t.slot = s.slot AND t.conversation_id IS NOT DISTINCT FROM s.conversation_id
                          AND t.seq BETWEEN s.first_seq AND s.last_seq AND t.since_seq <= s.position
                        ORDER BY t.seq DESC OFFSET 0
                    ) t
                    WHERE \(isBefore("t.at", "t.seq")) AND t.text LIKE ALL ($12) AND \(isNotHidden("t.seq"))
                    LIMIT $9
                ) b
                LIMIT $9
            ) f
            ORDER BY f.at DESC, f.conversation_id DESC, f.seq DESC LIMIT $9
            """)
    }

    private static func isBefore(_ at: String, _ seq: String) -> String {
        "(\(at), s.conversation_id, \(seq)) < ($6, $7, $8)"
    }

    private static func isNotHidden(_ seq: String) -> String {
        """
        (SELECT true FROM store.hidden d
         WHERE d.slot = s.slot AND d.conversation_id = s.conversation_id AND d.user_id = $1 AND d.seq = \(seq)) IS NULL
        """
    }

    /// The found messages as their reader $1 sees them, each with its conversation.
    static let messages = Statement(
        "search_messages", parameters: [.text, .array(.int2), .array(.uuid), .array(.int8)],
        """
        SELECT \(MessageRow.columns(for: "$1", asOf: "stay.position")), m.conversation_id
        FROM unnest($2::smallint[], $3::uuid[], $4::bigint[]) WITH ORDINALITY AS f(slot, conversation_id, seq, ordinal)
        JOIN store.messages m ON m.slot = f.slot AND m.conversation_id = f.conversation_id AND m.seq = f.seq
        CROSS JOIN LATERAL (
            SELECT max(coalesce(s.left_seq, 9223372036854775807)) AS position FROM store.memberships s
            WHERE s.slot = f.slot AND s.conversation_id = f.conversation_id AND s.user_id = $1
        ) stay
        LEFT JOIN LATERAL (
            SELECT p.sender_id, \(MessageRow.text(of: "p", asOf: "stay.position")) AS body FROM store.messages p
            WHERE p.slot = f.slot AND p.conversation_id = f.conversation_id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
              AND EXISTS (SELECT FROM store.memberships s
                          WHERE s.slot = f.slot AND s.conversation_id = f.conversation_id AND s.user_id = $1
                            AND p.seq BETWEEN greatest(s.joined_seq, s.cleared_seq + 1) AND coalesce(s.left_seq, p.seq))
              AND NOT EXISTS (SELECT FROM store.hidden d
                              WHERE d.slot = f.slot AND d.conversation_id = f.conversation_id AND d.user_id = $1 AND d.seq = p.seq)
        ) parent ON true
        WHERE m.body IS NOT NULL
        ORDER BY f.ordinal
        """)

    static func conversation(_ row: Row) -> ConversationID { row[MessageRow.columnCount] }

    static let statements = [allStays, staysOfOne, unindexed, words, parts]
}
