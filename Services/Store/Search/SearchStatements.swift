import Models
import Postgres
import Wire

/// The queries of a search. One statement finds out where the reader may look, searches there, and returns the messages
/// as the reader sees them. A search over all conversations of a reader fans out over slots, like their list.
///
/// It looks in two places. The index is searched in steps of conversations, latest activity first. The search stops
/// when the results so far are newer than the latest activity of all further conversations. Unindexed texts of the
/// searched conversations are returned as candidates. `SearchTerms` decides whether they match, because only it knows
/// how texts are compared.
enum SearchStatements {
    /// The number of conversations in the first step. Each further step takes twice as many.
    private static let firstStep = 32
    /// The number of unindexed texts that one search examines, newest first.
    private static let unindexedLimit = 4_096
    /// The total size of these texts, in bytes.
    private static let unindexedBytes = 1024 * 1024

    /// $1 reader · $2 their slot · $3 one more than the limit, to detect further results · before: $4 time · $5
    /// conversation · $6 position · $7 what to find by · $8 patterns that all must hold · $9 patterns that all hold in
    /// any matching text without a character beyond ASCII · of one conversation: $10 its slot · $11 its id.
    private static let parameters: [PostgresType] = [
        .text, .int2, .int8, .timestamptz, .uuid, .int8, .text, .array(.text), .array(.text),
    ]

    static func statement(_ mode: SearchTerms.Mode, ofOne: Bool) -> Statement {
        switch mode {
        case .words: ofOne ? wordsOfOne : words
        case .parts: ofOne ? partsOfOne : parts
        }
    }

    static let statements = [words, wordsOfOne, parts, partsOfOne]

    private static let words = all("search_words", byWords)
    private static let wordsOfOne = one("search_words_of_one", byWords)
    private static let parts = all("search_parts", byParts)
    private static let partsOfOne = one("search_parts_of_one", byParts)

    private static func all(_ name: String, _ condition: String) -> Statement {
        Statement(
            name, parameters: parameters,
            search(in: "i.user_slot = $2 AND i.user_id = $1 AND \(Listing.shows(to: "$1"))", condition))
    }

    private static func one(_ name: String, _ condition: String) -> Statement {
        let conversation = "i.user_slot = $2 AND i.user_id = $1 AND i.slot = $10 AND i.conversation_id = $11"
        return Statement(name, parameters: parameters + [.int2, .uuid], search(in: conversation, condition))
    }

    /// $7 is a `tsquery` in which `~` stands for the name of the block.
    private static let byWords = """
        t.words @@ replace($7, '~', store.search_block(s.conversation_id, block.number << 10))::tsquery
        """

    /// $7 is the pattern to find by.
    private static let byParts = """
        store.search_block(t.conversation_id, t.seq) = store.search_block(s.conversation_id, block.number << 10)
            AND t.text LIKE $7
        """

    /// Returns at least one row. Its first columns are those of a message, or NULL.
    private static func search(in inbox: String, _ condition: String) -> String {
        """
        WITH RECURSIVE stays AS MATERIALIZED (\(stays(in: inbox))),
        steps AS (
            SELECT 0::bigint AS done, \(firstStep)::bigint AS size, '{}'::smallint[] AS slots, '{}'::uuid[] AS conversations,
                '{}'::bigint[] AS seqs, '{}'::bigint[] AS positions, '{}'::timestamptz[] AS ats
            UNION ALL
            SELECT step.done + step.size, 2 * step.size, found.*
            FROM steps step CROSS JOIN LATERAL (
                SELECT coalesce(array_agg(slot), '{}'), coalesce(array_agg(conversation_id), '{}'),
                    coalesce(array_agg(seq), '{}'), coalesce(array_agg(position), '{}'), coalesce(array_agg(at), '{}')
                FROM (
                    SELECT * FROM unnest(step.slots, step.conversations, step.seqs, step.positions, step.ats)
                        AS f(slot, conversation_id, seq, position, at)
                    UNION ALL
                    (SELECT s.slot, s.conversation_id, f.seq, s.position, f.at
                     FROM stays s CROSS JOIN LATERAL (\(indexed(condition))) f
                     WHERE s.place > step.done AND s.place <= step.done + step.size)
                    ORDER BY at DESC, conversation_id DESC, seq DESC LIMIT $3
                ) newest
            ) found
            WHERE (SELECT cardinality(step.ats) < $3 OR step.ats[$3] <= s.last_at
                   FROM stays s WHERE s.place = step.done + 1)
        ),
        last_step AS MATERIALIZED (SELECT * FROM steps ORDER BY done DESC LIMIT 1),
        unindexed AS MATERIALIZED (\(unindexed))
        SELECT \(MessageRow.columns(for: "$1", asOf: "m.position")), m.conversation_id, m.is_indexed, known.is_known
        FROM (SELECT EXISTS (SELECT FROM stays) AS is_known) known
        LEFT JOIN (
            SELECT m.*, f.position, f.is_indexed
            FROM (
                SELECT f.*, true AS is_indexed
                FROM last_step l, unnest(l.slots, l.conversations, l.seqs, l.positions)
                    AS f(slot, conversation_id, seq, position)
                UNION ALL
                SELECT u.slot, u.conversation_id, u.seq, u.position, false FROM unindexed u
            ) f
            CROSS JOIN LATERAL (
                SELECT * FROM store.messages m
                WHERE m.slot = f.slot AND m.conversation_id = f.conversation_id AND m.seq = f.seq AND m.body IS NOT NULL
                OFFSET 0
            ) m
        ) m ON true
        LEFT JOIN LATERAL (\(MessageRow.parent(for: "$1", asOf: "m.position"))) parent ON true
        ORDER BY m.created_at DESC, m.conversation_id DESC, m.seq DESC
        """
    }

    /// The stretches of conversations that the reader sees, latest activity first, with the indexed position of each.
    /// `position` is the last one of the conversation that the reader may see; texts are read as of it.
    private static func stays(in inbox: String) -> String {
        """
        SELECT c.slot, c.id AS conversation_id, greatest(s.joined_seq, s.cleared_seq + 1) AS first_seq,
            least(c.last_seq, s.left_seq) AS last_seq, coalesce(p.indexed_seq, 0) AS indexed_seq, c.last_at,
            max(coalesce(s.left_seq, \(Int64.max))) OVER (PARTITION BY c.slot, c.id) AS position,
            row_number() OVER (ORDER BY c.last_at DESC, c.id DESC, s.joined_seq DESC) AS place
        FROM (SELECT i.slot, i.conversation_id, i.user_id FROM store.inbox i WHERE \(inbox) OFFSET 0) i
        CROSS JOIN LATERAL (
            SELECT * FROM store.conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id OFFSET 0
        ) c
        CROSS JOIN LATERAL (
            SELECT * FROM store.memberships s
            WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = i.user_id OFFSET 0
        ) s
        LEFT JOIN store.search_progress p ON p.slot = i.slot AND p.conversation_id = i.conversation_id
        """
    }

    /// Searches the blocks of a stretch `s` from the newest on, until there are enough results. The nested loops keep
    /// that order without an ORDER BY, which would read every block. `IS NOT DISTINCT FROM` keeps the planner from
    /// reading whole conversations by the table's key.
    private static func indexed(_ condition: String) -> String {
        """
        SELECT b.* FROM generate_series(s.last_seq >> 10, s.first_seq >> 10, -1) AS block(number)
        CROSS JOIN LATERAL (
            SELECT t.seq, t.at FROM (
                SELECT t.at, t.seq, t.text FROM store.search_texts t
                WHERE \(condition)
                  AND t.slot = s.slot AND t.conversation_id IS NOT DISTINCT FROM s.conversation_id
                  AND t.seq BETWEEN s.first_seq AND s.last_seq AND t.since_seq <= s.position
                ORDER BY t.seq DESC OFFSET 0
            ) t
            WHERE \(isBefore("t.at", "t.seq")) AND t.text LIKE ALL ($8) AND \(isNotHidden("t.seq"))
            LIMIT $3
        ) b
        LIMIT $3
        """
    }

    /// The texts to examine, newest first: those not indexed yet, and those whose indexed text is newer than the
    /// reader's stay. Texts of ASCII alone are folded by removing case and apostrophes, which filters out most that do
    /// not match.
    ///
    /// Messages are edited within minutes, so edits long after the reader left are not examined. A change may remove a
    /// mention of an erased user and keep the text. The index has already found such a message.
    private static let unindexed = """
        SELECT u.slot, u.conversation_id, u.seq, u.position
        FROM (
            SELECT u.*, sum(u.bytes) OVER (ORDER BY u.place) - u.bytes AS before
            FROM (\(unindexedTexts)) u
        ) u
        WHERE u.before < \(unindexedBytes)
        """

    private static let unindexedTexts = """
        SELECT m.slot, m.conversation_id, m.seq, s.position, octet_length(t.body) AS bytes,
            row_number() OVER (ORDER BY m.created_at DESC, m.conversation_id DESC, m.seq DESC) AS place
        FROM last_step l
        JOIN stays s ON s.place <= l.done AND (s.indexed_seq < s.last_seq OR s.position < \(Int64.max))
        CROSS JOIN LATERAL (
            (SELECT m.* FROM store.messages m
             WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.seq > s.indexed_seq
               AND m.seq BETWEEN s.first_seq AND s.last_seq
             ORDER BY m.seq DESC LIMIT \(unindexedLimit))
            UNION ALL
            (SELECT m.* FROM (
                SELECT DISTINCT h.message_id FROM (
                    SELECT h.message_id, h.kind FROM store.changes h
                    WHERE h.slot = s.slot AND h.conversation_id = s.conversation_id
                      AND h.seq > least(s.indexed_seq, s.position)
                    ORDER BY h.seq LIMIT \(unindexedLimit)
                ) h
                WHERE h.kind = \(ChangeKind.messageEdited.rawValue)
             ) h
             JOIN store.messages m ON m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.id = h.message_id
             WHERE m.seq <= s.indexed_seq AND m.seq BETWEEN s.first_seq AND s.last_seq AND (
                SELECT true FROM store.search_texts t
                WHERE t.slot = s.slot AND t.conversation_id = s.conversation_id AND t.seq = m.seq AND t.since_seq <= s.position
             ) IS NULL)
        ) m
        CROSS JOIN LATERAL (SELECT \(MessageRow.text(of: "m", asOf: "s.position")) AS body OFFSET 0) t
        WHERE m.body IS NOT NULL AND \(isBefore("m.created_at", "m.seq")) AND \(isNotHidden("m.seq"))
          AND (octet_length(t.body) > char_length(t.body)
               OR lower(replace(t.body, '''', '') COLLATE "C") LIKE ALL ($9))
        ORDER BY place LIMIT \(unindexedLimit)
        """

    private static func isBefore(_ at: String, _ seq: String) -> String {
        "(\(at), s.conversation_id, \(seq)) < ($4, $5, $6)"
    }

    private static func isNotHidden(_ seq: String) -> String {
        HiddenMessages.isNone(at: seq, slot: "s.slot", conversation: "s.conversation_id", reader: "$1")
    }

    // MARK: Parameters and rows

    static func add(
        _ query: SearchQuery, _ terms: SearchTerms, _ mode: SearchTerms.Mode, to parameters: inout Parameters
    ) {
        parameters.add(query.reader)
        parameters.add(query.reader.slot)
        parameters.add(Int64(query.limit) + 1)
        parameters.add(query.before?.at ?? ActivityCursor.start.lastActivityAt)
        parameters.add(query.before?.conversation ?? ActivityCursor.start.conversation)
        parameters.add(query.before?.seq ?? .max)
        parameters.add(mode == .words ? terms.tsquery : terms.partPatterns.first ?? "")
        add(mode == .words ? terms.runPatterns : Array(terms.partPatterns.dropFirst()), to: &parameters)
        add(terms.patterns, to: &parameters)
        guard let conversation = query.conversation else { return }
        parameters.add(conversation.slot)
        parameters.add(conversation)
    }

    private static func add(_ patterns: [String], to parameters: inout Parameters) {
        parameters.addArray(of: .text)
        for pattern in patterns { parameters.append(pattern) }
    }

    /// Returns nil for the only row of a search without results. Texts live as long as the rows.
    static func message(_ row: Row) -> MessageFields? {
        (row[MessageRow.columnCount] as ConversationID?).flatMap { MessageFields(row, conversation: $0) }
    }

    /// Whether the message was found by the index. Otherwise its text has to be examined.
    static func isIndexed(_ row: Row) -> Bool { row[MessageRow.columnCount + 1] }

    /// Whether the reader is or was in the conversation, or in any.
    static func isKnown(_ row: Row) -> Bool { row[MessageRow.columnCount + 2] }
}
