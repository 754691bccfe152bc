import Models
import Postgres
import Slots
import Wire

/// Clamps each signal to the end of its conversation, moves horizons forward and writes at most one run for each part
/// of an advance. Raises the status version of a conversation once if others can see any of its changes. A user occurs
/// once per conversation. Only present members move: what a former member left unread stays unread until they come
/// back.
///
/// It is written like `SendStatement` of the store, for the same reason: PostgreSQL spends its time on index lookups
/// and on carrying rows. `SignalLayout` passes conversations, users and signals as arrays that refer to each other by
/// subscripts. What signals share is looked up once. Each signal then needs only the lookup of its horizon and its run.
/// The horizon is updated at the row address found, in the partition of its slot. (Under the lock of the position
/// nobody else moves it.)
///
/// A horizon never lies beyond the end of its user's last stay. So a user whose horizon is at or after the
/// conversation's last removal is a member, and stays are looked up only for the others.
///
/// What others see of a reading (`shown_seq`) is decided here and not from a cache. After the service has confirmed to
/// users that their read receipts are off, none of their readings is shown. The user's setting lies in the user's slot,
/// so this statement uses two slots.
///
/// All advances of a conversation have one time, which is taken once for all rows, after the locks. `least` and
/// `greatest` ignore NULLs.
///
/// Outcomes: 0 no such conversation (the user never was in it), 1 the user has left, 2 a member. Added to 2: 4
/// delivered moved, 8 others see a reading, 16 read moved. 12 is what others see, 28 any movement.
enum AdvanceStatement {
    static let statement = Statement(
        "advance_horizons",
        parameters: [
            .array(.int2), .array(.uuid),  // Conversations: slots, ids.
            // Signals: the conversation of each, users, delivered, read.
            .array(.int4), .array(.text), .array(.int8), .array(.int8),
            .array(.int2), .array(.text),  // Users: slots, ids.
            .array(.int4),  // The user of each signal.
        ],
        """
        WITH places AS MATERIALIZED (
            SELECT array_agg(place) AS places, array_agg(version) AS versions, array_agg(at) AS times,
                array_agg(last_seq) AS last_seqs, array_agg(member_count) AS member_counts,
                array_agg(removed_seq) AS removed_seqs, array_agg(has_settings) AS settings
            FROM (
                SELECT coalesce(p.ctid, '(0,0)') AS place,
                    CASE WHEN c.last_seq IS NULL THEN 0 ELSE coalesce(p.status_version + 1, 0) END AS version,
                    greatest(p.last_at, (SELECT \(ChangeTime.now))) AS at,
                    coalesce(c.last_seq, 0) AS last_seq, coalesce(c.member_count, 0) AS member_count,
                    coalesce((
                        SELECT r.seq FROM store.published_changes r
                        WHERE r.slot = k.slot AND r.conversation_id = k.id
                          AND r.kind = \(ChangeKind.memberRemoved.rawValue)
                        ORDER BY r.seq DESC LIMIT 1), 0) AS removed_seq,
                    (SELECT true FROM store.published_conversation_settings s
                     WHERE s.slot = k.slot AND s.conversation_id = k.id LIMIT 1) IS NOT NULL AS has_settings
                FROM unnest($1::smallint[], $2::uuid[]) WITH ORDINALITY AS k (slot, id, n)
                LEFT JOIN receipt.positions p ON p.slot = k.slot AND p.conversation_id = k.id
                LEFT JOIN store.published_conversations c ON c.slot = k.slot AND c.id = k.id
                ORDER BY n
            ) k
        ), readers AS MATERIALIZED (
            SELECT array_agg(coalesce((
                SELECT s.read_receipts FROM store.published_user_settings s
                WHERE s.user_slot = u.slot AND s.user_id = u.id), true) ORDER BY n) AS shows
            FROM unnest($7::smallint[], $8::text[]) WITH ORDINALITY AS u (slot, id, n)
        ), judged AS MATERIALIZED (
            SELECT
                CASE WHEN standing < 2 THEN standing ELSE 2
                    + CASE WHEN delivered_seq > old_delivered THEN 4 ELSE 0 END
                    + CASE WHEN shown_seq > old_shown THEN 8 ELSE 0 END
                    + CASE WHEN read_seq > old_read THEN 16 ELSE 0 END
                END AS outcome,
                c, delivered_seq, read_seq, shown_seq, old_delivered, old_shown, old_version, ordinal, place, user_id
            FROM (
                SELECT s.ordinal, s.c, s.user_id, h.place, coalesce(h.version, 0) AS old_version,
                    coalesce(h.delivered_seq, 0) AS old_delivered, coalesce(h.read_seq, 0) AS old_read,
                    coalesce(h.shown_seq, 0) AS old_shown,
                    CASE
                        WHEN h.delivered_seq >= (SELECT removed_seqs FROM places)[s.c] THEN 2
                        WHEN (SELECT versions FROM places)[s.c] = 0 THEN 0
                        WHEN (SELECT true FROM store.published_memberships m
                              WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.user_id = s.user_id
                                AND m.left_seq IS NULL) THEN 2
                        WHEN (SELECT true FROM store.published_memberships m
                              WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.user_id = s.user_id
                              LIMIT 1) THEN 1
                        ELSE 0
                    END AS standing,
                    greatest(h.delivered_seq, s.delivered_seq) AS delivered_seq,
                    greatest(h.read_seq, s.read_seq) AS read_seq,
                    CASE
                        WHEN s.read_seq > coalesce(h.read_seq, 0) AND coalesce(
                            CASE WHEN (SELECT settings FROM places)[s.c] THEN (
                                SELECT o.read_receipts FROM store.published_conversation_settings o
                                WHERE o.slot = s.slot AND o.conversation_id = s.conversation_id AND o.user_id = s.user_id
                            ) END,
                            (SELECT shows FROM readers)[($9::integer[])[s.ordinal]]) THEN s.read_seq
                        ELSE coalesce(h.shown_seq, 0)
                    END AS shown_seq
                FROM (
                    SELECT t.ordinal, t.c, t.user_id, ($1::smallint[])[c] AS slot, ($2::uuid[])[c] AS conversation_id,
                        least(greatest(($5::bigint[])[ordinal], ($6::bigint[])[ordinal]), (SELECT last_seqs FROM places)[c])
                            AS delivered_seq,
                        least(($6::bigint[])[ordinal], (SELECT last_seqs FROM places)[c]) AS read_seq
                    FROM (
                        SELECT t.ordinal, t.user_id, ($3::integer[])[ordinal] AS c
                        FROM unnest($4::text[]) WITH ORDINALITY AS t (user_id, ordinal)
                        OFFSET 0
                    ) t
                    OFFSET 0
                ) s
                LEFT JOIN LATERAL (
                    SELECT h.ctid AS place, h.version, h.delivered_seq, h.read_seq, h.shown_seq FROM receipt.horizons h
                    WHERE h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
                ) h ON true
                OFFSET 0
            ) j
        ), kept AS (
            UPDATE receipt.horizons h
            SET delivered_seq = m.delivered_seq, read_seq = m.read_seq, shown_seq = m.shown_seq,
                version = CASE WHEN m.outcome & 12 > 0 THEN (SELECT versions FROM places)[m.c] ELSE m.old_version END
            FROM judged m WHERE m.outcome & 28 > 0 AND h.ctid = m.place AND h.slot = ($1::smallint[])[m.c]
        ), begun AS (
            INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
            SELECT ($1::smallint[])[c], ($2::uuid[])[c], user_id, delivered_seq, read_seq, shown_seq,
                (SELECT versions FROM places)[c]
            FROM judged WHERE outcome & 28 > 0 AND place IS NULL
        ), runs AS (
            INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
            SELECT ($1::smallint[])[c], ($2::uuid[])[c], user_id, kind, from_seq, to_seq, (SELECT times FROM places)[c]
            FROM (
                SELECT c, user_id, 3 AS kind, old_delivered + 1 AS from_seq, shown_seq AS to_seq FROM judged
                WHERE outcome & 12 > 0 AND shown_seq > old_delivered
                UNION ALL
                SELECT c, user_id, 1, greatest(old_delivered, shown_seq) + 1, delivered_seq FROM judged
                WHERE outcome & 12 > 0 AND delivered_seq > greatest(old_delivered, shown_seq)
                UNION ALL
                SELECT c, user_id, 2, old_shown + 1, least(old_delivered, shown_seq) FROM judged
                WHERE outcome & 12 > 0 AND least(old_delivered, shown_seq) > old_shown
            ) r
        ), raised AS (
            UPDATE receipt.positions p
            SET status_version = (SELECT versions FROM places)[m.c], last_at = (SELECT times FROM places)[m.c]
            FROM (SELECT DISTINCT c FROM judged WHERE outcome & 12 > 0) m
            WHERE p.ctid = (SELECT places FROM places)[m.c] AND p.slot = ($1::smallint[])[m.c]
        )
        SELECT p.versions, p.times, p.member_counts, j.*
        FROM places p, (
            SELECT array_agg(ordinal::integer), array_agg(outcome::smallint), array_agg(delivered_seq), array_agg(read_seq),
                array_agg(shown_seq)
            FROM judged
        ) j
        """)

    /// Adds the parameters. Subscripts in PostgreSQL count from 1.
    static func add(_ signals: [MergedSignal], _ layout: SignalLayout, to parameters: inout Parameters) {
        HorizonStatements.add(layout.conversations, to: &parameters)
        parameters.addArray(of: .int4)
        for index in layout.conversationOfSignal { parameters.append(Int32(index + 1)) }
        parameters.addArray(of: .text)
        for signal in signals { parameters.append(signal.key.user) }
        parameters.addArray(of: .int8)
        for signal in signals { parameters.append(signal.horizons.delivered) }
        parameters.addArray(of: .int8)
        for signal in signals { parameters.append(signal.horizons.read) }
        parameters.addArray(of: .int2)
        for user in layout.users { parameters.append(user.slot) }
        parameters.addArray(of: .text)
        for user in layout.users { parameters.append(user) }
        parameters.addArray(of: .int4)
        for index in layout.userOfSignal { parameters.append(Int32(index + 1)) }
    }

    /// Returns the outcomes of the signals, in their order.
    static func outcomes(_ rows: Rows, _ layout: SignalLayout) -> [SignalOutcome] {
        Answer(rows[0]).outcomes(layout)
    }
}

/// The one row that the statement returns.
private struct Answer {
    // By conversation.
    private let versions: [Int64]
    private let times: [Timestamp]
    private let memberCounts: [Int32]
    // By signal, in the order of `signals`, counted from 1.
    private let signals: [Int32]
    private let outcomes: [Int16]
    private let delivered: [Int64]
    private let read: [Int64]
    private let shown: [Int64]

    init(_ row: Row) {
        versions = row.array(0)
        times = row.array(1)
        memberCounts = row.array(2)
        signals = row.array(3)
        outcomes = row.array(4)
        delivered = row.array(5)
        read = row.array(6)
        shown = row.array(7)
    }

    /// Returns the outcomes by signal.
    func outcomes(_ layout: SignalLayout) -> [SignalOutcome] {
        var bySignal = Array(repeating: SignalOutcome.refused(.unknownConversation), count: signals.count)
        for (place, signal) in signals.enumerated() {
            let index = Int(signal) - 1
            bySignal[index] = outcome(place, in: layout.conversationOfSignal[index])
        }
        return bySignal
    }

    private func outcome(_ place: Int, in conversation: Int) -> SignalOutcome {
        let outcome = outcomes[place]
        guard outcome != 0 else { return .refused(.unknownConversation) }
        guard outcome != 1 else { return .refused(.notAMember) }
        let reached = Horizons(delivered: delivered[place], read: read[place])
        guard outcome & 28 > 0 else { return .reached(reached, nil) }
        let advance = SignalOutcome.Advance(
            delivered: outcome & 4 > 0 ? reached.delivered : nil, shown: outcome & 8 > 0 ? shown[place] : nil,
            read: outcome & 16 > 0 ? reached.read : nil, version: versions[conversation], at: times[conversation],
            memberCount: memberCounts[conversation])
        return .reached(reached, advance)
    }
}

/// The outcome of one signal.
enum SignalOutcome {
    case refused(Problem)
    /// The user's horizons, and what of them is new. Nil: the signal moved nothing, or lay beyond the end of the
    /// conversation.
    case reached(Horizons, Advance?)

    /// An advance: the horizons after it, nil where it moved nothing.
    struct Advance {
        let delivered: Int64?
        /// The part of `read` that others see.
        let shown: Int64?
        let read: Int64?
        let version: Int64
        let at: Timestamp
        let memberCount: Int32

        /// Whether others see the advance.
        var isSeen: Bool { delivered != nil || shown != nil }
    }
}

extension Problem {
    static let unknownConversation = Problem(.notFound, "there is no such conversation")
    static let notAMember = Problem(.forbidden, "only members may do this")
}
