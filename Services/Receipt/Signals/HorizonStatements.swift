import Models
import Postgres
import Wire

/// The statements of a batch of signals. The first ones lock: only then does the last, with a fresh snapshot, move the
/// horizons.
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

    /// Clamps each signal to the end of its conversation, moves horizons forward, writes at most one run for each part of
    /// an advance, and raises once the status version of each conversation in which others have something to see. A user
    /// occurs once per conversation. Only present members move: who left unread stays unread until they come back.
    ///
    /// What others see of a reading (`shown_seq`) is decided here and not from a cache: whoever was told that their read
    /// receipts are off is never shown again. The user's setting lies in the user's slot, so this statement names two.
    ///
    /// All advances of a conversation have one time: `statement_timestamp` is the same for all rows, and it is later than
    /// the locks, because a pipeline takes it when the statement begins. Under the lock nobody else updates the horizons
    /// of the conversation, so the place of a row found, in the partition of its slot, is the place to update. `least` and
    /// `greatest` ignore NULLs.
    private static let advance = Statement(
        "advance_horizons",
        parameters: [.array(.int2), .array(.uuid), .array(.int2), .array(.text), .array(.int8), .array(.int8)],
        """
        WITH judged AS MATERIALIZED (
            SELECT i.ordinal, i.slot, i.conversation_id, i.user_id, p.version, p.at, p.member_count, h.place,
                CASE
                    WHEN p.version IS NULL THEN \(Standing.stranger.rawValue)
                    WHEN (SELECT true FROM store.memberships m
                          WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id = i.user_id
                            AND m.left_seq IS NULL) THEN \(Standing.member.rawValue)
                    WHEN EXISTS (SELECT FROM store.memberships m
                                 WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id
                                   AND m.user_id = i.user_id) THEN \(Standing.formerMember.rawValue)
                    ELSE \(Standing.stranger.rawValue)
                END AS standing,
                coalesce(h.version, 0) AS old_version, coalesce(h.delivered_seq, 0) AS old_delivered,
                coalesce(h.read_seq, 0) AS old_read, coalesce(h.shown_seq, 0) AS old_shown,
                greatest(h.delivered_seq, least(greatest(i.delivered_seq, i.read_seq), p.last_seq)) AS delivered_seq,
                greatest(h.read_seq, least(i.read_seq, p.last_seq)) AS read_seq,
                CASE
                    WHEN least(i.read_seq, p.last_seq) > coalesce(h.read_seq, 0) AND coalesce(
                        (SELECT s.read_receipts FROM store.conversation_settings s
                         WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = i.user_id),
                        (SELECT s.read_receipts FROM store.user_settings s
                         WHERE s.user_slot = i.user_slot AND s.user_id = i.user_id),
                        true) THEN least(i.read_seq, p.last_seq)
                    ELSE coalesce(h.shown_seq, 0)
                END AS shown_seq
            FROM unnest($1, $2, $3, $4, $5, $6) WITH ORDINALITY
                AS i (slot, conversation_id, user_slot, user_id, delivered_seq, read_seq, ordinal)
            LEFT JOIN LATERAL (
                SELECT p.status_version + 1 AS version, c.last_seq, c.member_count,
                    greatest(p.last_at, date_trunc('milliseconds', statement_timestamp())) AS at
                FROM receipt.positions p JOIN store.conversations c ON c.slot = p.slot AND c.id = p.conversation_id
                WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id
            ) p ON true
            LEFT JOIN LATERAL (
                SELECT h.ctid AS place, h.version, h.delivered_seq, h.read_seq, h.shown_seq FROM receipt.horizons h
                WHERE h.slot = i.slot AND h.conversation_id = i.conversation_id AND h.user_id = i.user_id
            ) h ON true
        ), moved AS MATERIALIZED (
            SELECT *, delivered_seq > old_delivered OR shown_seq > old_shown AS is_seen FROM judged
            WHERE standing = \(Standing.member.rawValue) AND (delivered_seq > old_delivered OR read_seq > old_read)
        ), kept AS (
            UPDATE receipt.horizons h
            SET delivered_seq = m.delivered_seq, read_seq = m.read_seq, shown_seq = m.shown_seq,
                version = CASE WHEN m.is_seen THEN m.version ELSE m.old_version END
            FROM moved m WHERE h.slot = m.slot AND h.ctid = m.place
        ), begun AS (
            INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
            SELECT slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version FROM moved
            WHERE place IS NULL
        ), runs AS (
            INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
            SELECT m.slot, m.conversation_id, m.user_id, r.kind, r.from_seq, r.to_seq, m.at
            FROM moved m CROSS JOIN LATERAL (VALUES
                (1::smallint, greatest(m.old_delivered, m.shown_seq) + 1, m.delivered_seq),
                (2::smallint, m.old_shown + 1, least(m.old_delivered, m.shown_seq)),
                (3::smallint, m.old_delivered + 1, m.shown_seq)
            ) AS r (kind, from_seq, to_seq)
            WHERE r.from_seq <= r.to_seq
        ), raised AS (
            UPDATE receipt.positions p SET status_version = m.version, last_at = m.at
            FROM (SELECT DISTINCT slot, conversation_id, version, at FROM moved WHERE is_seen) m
            WHERE p.slot = m.slot AND p.conversation_id = m.conversation_id
        )
        SELECT standing::smallint, delivered_seq > old_delivered, shown_seq > old_shown, read_seq > old_read,
            delivered_seq, shown_seq, read_seq, version, at, member_count
        FROM judged ORDER BY ordinal
        """)

    /// Adds the statements of a batch in which each key occurs once, and the signals of a conversation stand together.
    /// `isKnown` tells the conversations that are known to have a position.
    static func add(
        _ signals: [MergedSignal], to batch: inout Batch, isKnown: (ConversationID) -> Bool
    ) {
        var conversations: [ConversationID] = []
        for signal in signals where signal.key.conversation != conversations.last {
            conversations.append(signal.key.conversation)
        }
        let unknown = conversations.filter { !isKnown($0) }
        if !unknown.isEmpty { batch.execute(insertPositions) { add(unknown, to: &$0) } }
        batch.execute(lockPositions) { add(conversations, to: &$0) }
        batch.execute(advance) { add(signals, to: &$0) }
    }

    private static func add(_ conversations: [ConversationID], to parameters: inout Parameters) {
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
        parameters.addArray(of: .int2)
        for signal in signals { parameters.append(signal.key.user.slot) }
        parameters.addArray(of: .text)
        for signal in signals { parameters.append(signal.key.user) }
        parameters.addArray(of: .int8)
        for signal in signals { parameters.append(signal.horizons.delivered) }
        parameters.addArray(of: .int8)
        for signal in signals { parameters.append(signal.horizons.read) }
    }

    /// What became of the signals, in their order.
    static func outcomes(_ rows: [Rows]) -> [SignalOutcome] { rows[rows.count - 1].map(SignalOutcome.init) }
}

/// What a user is in a conversation, as `advance` tells it.
private enum Standing: Int16 {
    case stranger = 0
    case formerMember = 1
    case member = 2
}

/// What became of one signal.
enum SignalOutcome {
    case refused(Problem)
    /// Where the user is now, and what of it is new; nil: the horizons were there already, or beyond the end of the
    /// conversation.
    case reached(Horizons, Advance?)

    /// An advance: the horizons after it, nil where it moved nothing.
    struct Advance {
        let delivered: Int64?
        /// What others see of `read`.
        let shown: Int64?
        let read: Int64?
        let version: Int64
        let at: Timestamp
        let memberCount: Int32

        /// Whether others learn of it.
        var isSeen: Bool { delivered != nil || shown != nil }
    }

    init(_ row: Row) {
        switch Standing(rawValue: row[0]) {
        case .member: break
        case .formerMember:
            self = .refused(.notAMember)
            return
        case .stranger, nil:
            self = .refused(.unknownConversation)
            return
        }
        let hasDelivered: Bool = row[1], hasShown: Bool = row[2], hasRead: Bool = row[3]
        let reached = Horizons(delivered: row[4], read: row[6])
        guard hasDelivered || hasRead else {
            self = .reached(reached, nil)
            return
        }
        let advance = Advance(
            delivered: hasDelivered ? reached.delivered : nil, shown: hasShown ? row[5] : nil,
            read: hasRead ? reached.read : nil, version: row[7], at: row[8], memberCount: row[9])
        self = .reached(reached, advance)
    }
}

extension Problem {
    static let unknownConversation = Problem(.notFound, "there is no such conversation")
    static let notAMember = Problem(.forbidden, "only members may do this")
}
