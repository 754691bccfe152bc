import Models
import Postgres
import Reactor
import Slots
import Wire

/// The statements that add message texts to the index and remove them.
///
/// `store.search_progress` has how far each conversation is indexed: what was sent or edited at higher positions is not
/// in the index yet. The same row is a lock: the indexer writes while it holds it, and whoever changes or erases a text
/// takes it first (`LockStatement.searches`) and deletes the text's row afterwards (`unindex_target.sql`), so that an
/// erased text cannot come back by an indexer that read it before. Sending does not touch any of this.
enum SearchIndex {
    static let notes = NoteStatements(Schema.name, "unindexed", existence: (table: "store.conversations", id: "id"))

    /// Returns the conversations of slots $1 after conversation $2 that are not fully indexed. It reads the progress of
    /// all, for a store that takes over slots from one that left no notes.
    static let backlog = Statement(
        "search_backlog", parameters: [.array(.int2), .uuid, .int8],
        """
        SELECT c.id FROM store.conversations c
        WHERE c.slot = ANY ($1) AND c.id > $2 AND c.last_seq > coalesce((
            SELECT p.indexed_seq FROM store.search_progress p
            WHERE p.slot = c.slot AND p.conversation_id = c.id), 0)
        ORDER BY c.id LIMIT $3
        """)

    /// The approximate size in bytes of the texts of one batch. Each of its conversations adds at least one text.
    static let batchBytes = 1024 * 1024
    private static let leastBytes = 16 * 1024

    /// Returns the texts at the next $3 positions of each conversation: of messages created there, and of earlier ones
    /// edited there. It stops at the text that reaches $4 bytes. A row without a text has only the position.
    static let unindexed = Statement(
        "search_unindexed", parameters: [.array(.int2), .array(.uuid), .int8, .int8],
        """
        SELECT p.conversation_id, coalesce(m.next_position - 1, p.through), p.last_seq, m.seq, m.body
        FROM (
            SELECT c.slot, c.id AS conversation_id, n.indexed_seq, c.last_seq, least(c.last_seq, n.indexed_seq + $3) AS through
            FROM unnest($1::smallint[], $2::uuid[]) AS i(slot, conversation_id)
            JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
            LEFT JOIN store.search_progress p ON p.slot = i.slot AND p.conversation_id = i.conversation_id
            CROSS JOIN LATERAL (SELECT coalesce(p.indexed_seq, 0) AS indexed_seq) n
            WHERE n.indexed_seq < c.last_seq
        ) p
        LEFT JOIN LATERAL (
            SELECT * FROM (
                SELECT m.*, min(m.position) FILTER (WHERE m.before >= $4) OVER () AS next_position
                FROM (
                    SELECT m.*, sum(octet_length(m.body)) OVER (ORDER BY m.position) - octet_length(m.body) AS before
                    FROM (
                        SELECT m.seq AS position, m.seq, m.body FROM store.messages m
                        WHERE m.slot = p.slot AND m.conversation_id = p.conversation_id
                          AND m.seq > p.indexed_seq AND m.seq <= p.through AND m.body IS NOT NULL
                        UNION ALL
                        SELECT h.position, m.seq, m.body FROM (
                            SELECT h.message_id, min(h.seq) AS position FROM store.changes h
                            WHERE h.slot = p.slot AND h.conversation_id = p.conversation_id
                              AND h.seq > p.indexed_seq AND h.seq <= p.through AND h.kind = \(ChangeKind.messageEdited.rawValue)
                            GROUP BY h.message_id
                        ) h
                        JOIN store.messages m ON m.slot = p.slot AND m.conversation_id = p.conversation_id AND m.id = h.message_id
                        WHERE m.seq <= p.indexed_seq AND m.body IS NOT NULL
                    ) m
                ) m
            ) m
            WHERE m.before < $4
        ) m ON true
        """)

    /// Adds texts. A text edited since it was read is skipped: the edit has a higher position and is indexed there.
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

    /// Merges the collected texts. A search would otherwise read all of them.
    static let merge = Statement("search_merge", "SELECT store.merge_search_index()")

    static let statements = [LockStatement.searches, backlog, unindexed, add, advance, merge] + notes.all

    /// The texts of one conversation in one round.
    struct Portion {
        let conversation: ConversationID
        /// The position up to which the conversation is indexed once the texts are.
        let through: Int64
        let lastSeq: Int64
        var texts: [(seq: Int64, body: UnsafeRawBufferPointer)] = []

        fileprivate mutating func add(_ row: Row) {
            if !row.isNull(3) { texts.append((row[3], row[4])) }
        }
    }

    /// A text as it is stored in the index.
    struct Entry {
        let conversation: ConversationID
        let seq: Int64
        let body: UnsafeRawBufferPointer
        let lexemes: String
        let text: String
    }

    static func addUnindexed(
        _ conversations: [ConversationID], positions: Int, to parameters: inout Parameters
    ) {
        LockStatement.add(conversations, to: &parameters)
        parameters.add(Int64(max(1, positions / conversations.count)))
        parameters.add(Int64(max(leastBytes, batchBytes / conversations.count)))
    }

    /// Folds the texts, in pieces.
    @Reactor
    static func entries(_ portions: [Portion], in turns: TextTurns) async -> [Entry] {
        var entries: [Entry] = []
        var piece = TextTurns.Piece()
        for portion in portions {
            for (seq, body) in portion.texts {
                await turns.take(body.count, into: &piece)
                let folded = FoldedText(body)
                entries.append(
                    Entry(
                        conversation: portion.conversation, seq: seq, body: body, lexemes: folded.lexemes,
                        text: folded.text))
            }
        }
        return entries
    }

    /// Decodes the rows. The texts live as long as the rows.
    static func portions(_ rows: Rows) -> [Portion] {
        var portions: [ConversationID: Portion] = [:]
        for row in rows {
            let conversation: ConversationID = row[0]
            portions[
                conversation, default: Portion(conversation: conversation, through: row[1], lastSeq: row[2])
            ].add(row)
        }
        return Array(portions.values)
    }

    /// Adds the texts of `portions` to the index and records the progress.
    static func add(_ portions: [Portion], _ entries: [Entry], to batch: inout Batch) {
        batch.execute(LockStatement.searches) { LockStatement.add(portions.lazy.map(\.conversation), to: &$0) }
        if !entries.isEmpty { batch.execute(add) { add(entries, to: &$0) } }
        batch.execute(advance) { parameters in
            LockStatement.add(portions.lazy.map(\.conversation), to: &parameters)
            parameters.addArray(of: .int8)
            for portion in portions { parameters.append(portion.through) }
        }
    }

    private static func add(_ entries: [Entry], to parameters: inout Parameters) {
        LockStatement.add(entries.lazy.map(\.conversation), to: &parameters)
        parameters.addArray(of: .int8)
        for entry in entries { parameters.append(entry.seq) }
        parameters.addArray(of: .text)
        for entry in entries { parameters.append(entry.body) }
        parameters.addArray(of: .text)
        for entry in entries { parameters.append(entry.lexemes) }
        parameters.addArray(of: .text)
        for entry in entries { parameters.append(entry.text) }
    }
}
