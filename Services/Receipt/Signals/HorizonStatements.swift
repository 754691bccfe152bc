import Models
import Postgres

/// The three statements of a batch of signals. The first two lock: only then does the third, with a fresh snapshot, move
/// the horizons.
enum HorizonStatements {
    static let all = [insertPositions, lockPositions, advance]

    /// Gives conversations their first position. Of two inserting at once the second waits for the first, and finds its
    /// row when it locks.
    private static let insertPositions = Statement(
        "insert_positions", parameters: [.array(.int2), .array(.uuid)],
        """
        INSERT INTO receipt.positions (slot, conversation_id)
        SELECT i.slot, i.conversation_id FROM unnest($1, $2) AS i (slot, conversation_id)
        WHERE (SELECT true FROM receipt.positions p WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id) IS NULL
          AND (SELECT true FROM store.conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id)
        ORDER BY i.conversation_id, i.slot
        ON CONFLICT DO NOTHING
        """)

    /// In the order of the keys, so that no two batches wait for each other.
    private static let lockPositions = Statement(
        "lock_positions", parameters: [.array(.int2), .array(.uuid)],
        """
        SELECT FROM receipt.positions p
        WHERE (p.slot, p.conversation_id) IN (SELECT * FROM unnest($1, $2))
        ORDER BY p.conversation_id, p.slot
        FOR NO KEY UPDATE
        """)

    /// Clamps each signal to what its user may see, moves horizons forward, writes a run for each advance, and raises
    /// the status version of each conversation once. A user occurs once per conversation.
    ///
    /// All advances of a conversation have one time: `statement_timestamp` is the same for all rows, and it is later than
    /// the locks, because a pipeline takes it when the statement begins. `least` and `greatest` ignore NULLs: without a
    /// visible position nothing moves.
    private static let advance = Statement(
        "advance_horizons", parameters: [.array(.int2), .array(.uuid), .array(.text), .array(.int8), .array(.int8)],
        """
        WITH judged AS MATERIALIZED (
            SELECT i.ordinal, i.slot, i.conversation_id, i.user_id, p.version, p.at, v.visible_seq, c.member_count,
                coalesce(h.delivered_seq, 0) AS old_delivered, coalesce(h.read_seq, 0) AS old_read,
                greatest(h.delivered_seq, least(greatest(i.delivered_seq, i.read_seq), v.visible_seq)) AS delivered_seq,
                greatest(h.read_seq, least(i.read_seq, v.visible_seq)) AS read_seq
            FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY
                AS i (slot, conversation_id, user_id, delivered_seq, read_seq, ordinal)
            LEFT JOIN LATERAL (
                SELECT c.last_seq, c.member_count FROM store.conversations c
                WHERE c.slot = i.slot AND c.id = i.conversation_id
            ) c ON true
            LEFT JOIN LATERAL (
                SELECT max(coalesce(m.left_seq, c.last_seq)) AS visible_seq FROM store.memberships m
                WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id = i.user_id
            ) v ON true
            LEFT JOIN LATERAL (
                SELECT h.delivered_seq, h.read_seq FROM receipt.horizons h
                WHERE h.slot = i.slot AND h.conversation_id = i.conversation_id AND h.user_id = i.user_id
            ) h ON true
            LEFT JOIN LATERAL (
                SELECT p.status_version + 1 AS version,
                    greatest(p.last_at, date_trunc('milliseconds', statement_timestamp())) AS at
                FROM receipt.positions p WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id
            ) p ON true
        ), moved AS MATERIALIZED (
            SELECT * FROM judged
            WHERE visible_seq IS NOT NULL AND (delivered_seq > old_delivered OR read_seq > old_read)
        ), kept AS (
            INSERT INTO receipt.horizons AS h (slot, conversation_id, user_id, delivered_seq, read_seq, version)
            SELECT slot, conversation_id, user_id, delivered_seq, read_seq, version FROM moved
            ON CONFLICT (conversation_id, user_id, slot) DO UPDATE
            SET delivered_seq = greatest(h.delivered_seq, excluded.delivered_seq),
                read_seq = greatest(h.read_seq, excluded.read_seq), version = excluded.version
        ), runs AS (
            INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
            SELECT slot, conversation_id, user_id, 1, old_delivered + 1, delivered_seq, at FROM moved
            WHERE delivered_seq > old_delivered
            UNION ALL
            SELECT slot, conversation_id, user_id, 2, old_read + 1, read_seq, at FROM moved
            WHERE read_seq > old_read
        ), raised AS (
            UPDATE receipt.positions p SET status_version = m.version, last_at = m.at
            FROM (SELECT DISTINCT slot, conversation_id, version, at FROM moved) m
            WHERE p.slot = m.slot AND p.conversation_id = m.conversation_id
        )
        SELECT visible_seq IS NOT NULL, delivered_seq > old_delivered, read_seq > old_read, delivered_seq, read_seq,
            version, at, member_count
        FROM judged ORDER BY ordinal
        """)

    /// Adds the three statements. Each key occurs once in `signals`.
    static func add(_ signals: [MergedSignal], to batch: inout Batch) {
        let conversations = Set(signals.map(\.key.conversation))
        for statement in [insertPositions, lockPositions] {
            batch.execute(statement) { add(conversations, to: &$0) }
        }
        batch.execute(advance) { add(signals, to: &$0) }
    }

    private static func add(_ conversations: Set<ConversationID>, to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for conversation in conversations { parameters.append(conversation.slot) }
        parameters.addArray(of: .uuid)
        for conversation in conversations { parameters.append(conversation) }
    }

    private static func add(_ signals: [MergedSignal], to parameters: inout Parameters) {
        parameters.addArray(of: .int2)
        for signal in signals { parameters.append(signal.key.conversation.slot) }
        parameters.addArray(of: .uuid)
        for signal in signals { parameters.append(signal.key.conversation) }
        parameters.addArray(of: .text)
        for signal in signals { parameters.append(signal.key.user) }
        parameters.addArray(of: .int8)
        for signal in signals { parameters.append(signal.horizons.delivered) }
        parameters.addArray(of: .int8)
        for signal in signals { parameters.append(signal.horizons.read) }
    }

    /// What became of the signals, in their order.
    static func outcomes(_ rows: [Rows]) -> [SignalOutcome] { rows[2].map(SignalOutcome.init) }
}

/// What became of one signal.
enum SignalOutcome {
    /// Its user never was a member, or there is no such conversation.
    case refused
    /// The horizons were there already, or beyond what the user may see.
    case unmoved
    case moved(Advance)

    /// An advance: the horizons after it, nil where it moved nothing.
    struct Advance {
        let delivered: Int64?
        let read: Int64?
        let version: Int64
        let at: Timestamp
        let memberCount: Int32
    }

    init(_ row: Row) {
        let isMember: Bool = row[0]
        guard isMember else {
            self = .refused
            return
        }
        let hasDelivered: Bool = row[1], hasRead: Bool = row[2]
        guard hasDelivered || hasRead else {
            self = .unmoved
            return
        }
        self = .moved(
            Advance(
                delivered: hasDelivered ? row[3] : nil, read: hasRead ? row[4] : nil, version: row[5], at: row[6],
                memberCount: row[7]))
    }
}
