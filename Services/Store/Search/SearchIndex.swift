import Models
import Postgres
import Slots
import Wire

/// How message texts come into the index and out of it.
///
/// `store.search_progress` has how far each conversation is indexed: what was sent or edited at higher positions is not
/// in the index yet. The same row is a lock: the indexer writes while it holds it, and whoever changes or erases a text
/// takes it first (`LockStatement.searches`) and deletes the text's row afterwards (`forget`), so that an erased text
/// cannot come back by an indexer that read it before. Sending does not touch any of this.
enum SearchIndex {
    /// A CTE that takes message `target` out of the index in the transaction that changes or erases its text; with a
    /// comma before it.
    static let forget = """
        , unindexed AS (
            DELETE FROM store.search_texts x USING moved, target
            WHERE x.slot = $1 AND x.conversation_id = $2 AND x.seq = target.seq
        )
        """

    static let notes = NoteStatements(Schema.name, "unindexed", existence: (table: "store.conversations", id: "id"))

    /// After conversation $2, those of the slots $1 that are not indexed completely. Reads the progress of all: for a
    /// store that takes slots over from one that noted nothing.
    static let backlog = Statement(
        "search_backlog", parameters: [.array(.int2), .uuid, .int8],
        """
        SELECT c.id FROM store.conversations c
        WHERE c.slot = ANY ($1) AND c.id > $2 AND c.last_seq > coalesce((
            SELECT p.indexed_seq FROM store.search_progress p
            WHERE p.slot = c.slot AND p.conversation_id = c.id), 0)
        ORDER BY c.id LIMIT $3
        """)

    /// Of each conversation the texts at its next $3 positions: of messages created there, and of earlier ones that were
    /// edited there. A row without a text has the position alone.
    static let unindexed = Statement(
        "search_unindexed", parameters: [.array(.int2), .array(.uuid), .int8],
        """
        SELECT p.conversation_id, p.through, p.last_seq, m.seq, m.body
        FROM (
            SELECT c.slot, c.id AS conversation_id, n.indexed_seq, c.last_seq, least(c.last_seq, n.indexed_seq + $3) AS through
            FROM unnest($1::smallint[], $2::uuid[]) AS i(slot, conversation_id)
            JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
            LEFT JOIN store.search_progress p ON p.slot = i.slot AND p.conversation_id = i.conversation_id
            CROSS JOIN LATERAL (SELECT coalesce(p.indexed_seq, 0) AS indexed_seq) n
            WHERE n.indexed_seq < c.last_seq
        ) p
        LEFT JOIN LATERAL (
            SELECT m.seq, m.body FROM store.messages m
            WHERE m.slot = p.slot AND m.conversation_id = p.conversation_id AND m.seq > p.indexed_seq AND m.seq <= p.through
              AND m.body IS NOT NULL
            UNION ALL
            SELECT m.seq, m.body FROM (
                SELECT DISTINCT h.message_id FROM store.changes h
                WHERE h.slot = p.slot AND h.conversation_id = p.conversation_id
                  AND h.seq > p.indexed_seq AND h.seq <= p.through AND h.kind = \(ChangeKind.messageEdited.rawValue)
            ) h
            JOIN store.messages m ON m.slot = p.slot AND m.conversation_id = p.conversation_id AND m.id = h.message_id
            WHERE m.seq <= p.indexed_seq AND m.body IS NOT NULL
        ) m ON true
        """)

    /// A text that was edited since it was read is passed over: the edit has a higher position, where it comes again.
    static let add = Statement(
        "search_add",
        parameters: [.array(.int2), .array(.uuid), .array(.int8), .array(.text), .array(.text), .array(.text)],
        """
        INSERT INTO store.search_texts (slot, conversation_id, seq, at, since_seq, words, text)
        SELECT i.slot, i.conversation_id, i.seq, m.created_at,
            CASE WHEN m.edited_at IS NULL THEN m.seq ELSE (
                SELECT coalesce(max(v.replaced_seq), m.seq) FROM store.revisions v
                WHERE v.slot = m.slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id) END,
            array_to_tsvector(CASE WHEN i.lexemes = '' THEN '{}'
                ELSE string_to_array(b.block || replace(i.lexemes, ' ', ' ' || b.block), ' ') END),
            i.text
        FROM unnest($1::smallint[], $2::uuid[], $3::bigint[], $4::text[], $5::text[], $6::text[])
            AS i(slot, conversation_id, seq, body, lexemes, text)
        JOIN store.messages m ON m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.seq = i.seq
        CROSS JOIN LATERAL (SELECT store.search_block(i.conversation_id, i.seq) AS block OFFSET 0) b
        WHERE m.body = i.body
        ON CONFLICT (conversation_id, seq, slot) DO UPDATE
            SET since_seq = excluded.since_seq, words = excluded.words, text = excluded.text
        """)

    static let advance = Statement(
        "search_advance", parameters: [.array(.int2), .array(.uuid), .array(.int8)],
        """
        UPDATE store.search_progress p SET indexed_seq = greatest(p.indexed_seq, i.through)
        FROM unnest($1::smallint[], $2::uuid[], $3::bigint[]) AS i(slot, conversation_id, through)
        WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id
        """)

    /// Merges what was collected: a search would read all of it.
    static let merge = Statement("search_merge", "SELECT store.merge_search_index()")

    static let statements = [LockStatement.searches, backlog, unindexed, add, advance, merge] + notes.all

    /// A conversation's texts of one round.
    struct Portion {
        let conversation: ConversationID
        /// Indexed up to there, when the texts are.
        let through: Int64
        let lastSeq: Int64
        var texts: [(seq: Int64, body: UnsafeRawBufferPointer)] = []
    }

    /// The texts live as long as the rows.
    static func portions(_ rows: Rows) -> [Portion] {
        var portions: [ConversationID: Portion] = [:]
        for row in rows {
            let conversation: ConversationID = row[0]
            var portion =
                portions[conversation] ?? Portion(conversation: conversation, through: row[1], lastSeq: row[2])
            if !row.isNull(3) { portion.texts.append((row[3], row[4])) }
            portions[conversation] = portion
        }
        return Array(portions.values)
    }

    /// Puts the texts of `portions` into the index and says so.
    static func add(_ portions: [Portion], to batch: inout Batch) {
        batch.execute(LockStatement.searches) { LockStatement.add(portions.lazy.map(\.conversation), to: &$0) }
        let texts = portions.flatMap { portion in
            portion.texts.map { (portion.conversation, $0.seq, $0.body, FoldedText($0.body)) }
        }
        if !texts.isEmpty {
            batch.execute(add) { parameters in
                LockStatement.add(texts.lazy.map(\.0), to: &parameters)
                parameters.addArray(of: .int8)
                for text in texts { parameters.append(text.1) }
                parameters.addArray(of: .text)
                for text in texts { parameters.append(text.2) }
                parameters.addArray(of: .text)
                for text in texts { parameters.append(text.3.lexemes) }
                parameters.addArray(of: .text)
                for text in texts { parameters.append(text.3.text) }
            }
        }
        batch.execute(advance) { parameters in
            LockStatement.add(portions.lazy.map(\.conversation), to: &parameters)
            parameters.addArray(of: .int8)
            for portion in portions { parameters.append(portion.through) }
        }
    }
}
