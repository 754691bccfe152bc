import Models
import Postgres
import Slots
import Wire

/// Stores a run of messages: finds repetitions, checks membership and parents, gives each new message the next `seq` of
/// its conversation, and tells what became of all of them.
///
/// PostgreSQL spends its time here on index lookups, on carrying rows from node to node, and on columns; so the
/// statement asks once for what messages share, and has next to no rows. `SendLayout` gives conversations, streams (one
/// sender in one conversation) and messages as arrays that refer to each other by subscripts, and the statement
/// continues like that: a subscript costs a hundredth of a lookup, and needs no join, which a generic plan, expecting
/// one row from every array, would make a nested loop over hundreds. Tables are probed by scalar subqueries, which stay
/// index lookups. (An EXISTS may become a hash of the whole table.)
///
/// Messages of a conversation stand side by side. So a position is the base of its conversation, plus the message's
/// place, less those before it that were refused; `width_bucket` counts these by binary search in their sorted places,
/// and finds a conversation among those that have advanced. What the statement returns is one row, of arrays.
///
/// Outcomes: 0 stored, 1 no such conversation (the sender never was in it), 2 repeated, 3 the id is another message's,
/// 4 the sender has left, 5 the parent cannot be replied to. Who hid or cleared a message may still reply to it; its text,
/// which is never empty, is not brought to them.
enum SendStatement {
    static let statement = Statement(
        "send_messages",
        parameters: [
            .array(.int2), .array(.uuid), .array(.int8),  // Conversations: slots, ids, places of their last messages.
            .array(.int4), .array(.text),  // Streams: their conversations, senders.
            .array(.int4), .array(.uuid), .array(.text), .array(.timestamptz),  // Messages: streams, ids, texts, times.
            .array(.int8), .array(.uuid),  // Replies: their places, parents.
            .array(.int8), .array(.text),  // Mentions: places, lists.
        ],
        """
        WITH streams AS MATERIALIZED (
            SELECT array_agg(coalesce((
                    SELECT CASE WHEN s.left_seq IS NULL THEN 0 ELSE 4 END FROM store.memberships s
                    WHERE s.slot = ($1::smallint[])[t.c] AND s.conversation_id = ($2::uuid[])[t.c] AND s.user_id = t.sender_id
                    ORDER BY s.joined_seq DESC LIMIT 1), 1)) AS standings,
                array_agg((
                    SELECT true FROM store.early_deletions e
                    WHERE e.slot = ($1::smallint[])[t.c] AND e.conversation_id = ($2::uuid[])[t.c] LIMIT 1) IS NOT NULL) AS deleted_early
            FROM unnest($4::integer[], $5::text[]) AS t(c, sender_id)
        ), replies AS MATERIALIZED (
            SELECT coalesce(array_agg(ordinal), '{}') AS ordinals, coalesce(array_agg(coalesce(p.seq, 0)), '{}') AS seqs,
                coalesce(array_agg(coalesce(p.sender_id, '')), '{}') AS senders, coalesce(array_agg(coalesce(p.body, '')), '{}') AS bodies
            FROM (
                SELECT r.*, ($4::integer[])[($6::integer[])[r.ordinal]] AS c, ($5::text[])[($6::integer[])[r.ordinal]] AS sender_id
                FROM unnest($10::bigint[], $11::uuid[]) AS r(ordinal, reply_to)
                OFFSET 0
            ) r LEFT JOIN LATERAL (
                SELECT p.seq, p.sender_id, CASE WHEN s.cleared_seq < p.seq AND (
                    SELECT true FROM store.hidden d
                    WHERE d.slot = ($1::smallint[])[r.c] AND d.conversation_id = ($2::uuid[])[r.c] AND d.user_id = r.sender_id
                      AND d.seq = p.seq) IS NULL THEN p.body END AS body
                FROM store.messages p CROSS JOIN LATERAL (
                    SELECT s.cleared_seq FROM store.memberships s
                    WHERE s.slot = ($1::smallint[])[r.c] AND s.conversation_id = ($2::uuid[])[r.c] AND s.user_id = r.sender_id
                      AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq)
                    LIMIT 1
                ) s
                WHERE p.slot = ($1::smallint[])[r.c] AND p.conversation_id = ($2::uuid[])[r.c] AND p.id = r.reply_to
                  AND p.kind IN (1, 2) AND p.deleted_at IS NULL
            ) p ON true
        ), judged AS MATERIALIZED (
            SELECT *,
                CASE
                    WHEN standing = 1 THEN 1
                    WHEN known IS NOT NULL THEN known
                    WHEN standing = 4 THEN 4
                    WHEN reply_seq = 0 THEN 5
                    ELSE 0
                END AS outcome
            FROM (
                SELECT m.*,
                    (SELECT standings FROM streams)[stream] AS standing,
                    (SELECT CASE
                        WHEN k.sender_id <> ($5::text[])[m.stream] THEN 3
                        WHEN k.edited_at IS NULL AND k.deleted_at IS NULL
                            AND (k.body, k.reply_to, array_to_string(k.mentions, ',')) IS DISTINCT FROM (m.body, m.reply_to, m.mentions) THEN 3
                        ELSE 2 END
                     FROM store.messages k
                     WHERE k.slot = m.slot AND k.conversation_id = m.conversation_id AND k.id = m.id) AS known,
                    (SELECT deleted_early FROM streams)[stream] AND (
                        SELECT true FROM store.early_deletions e
                        WHERE e.slot = m.slot AND e.conversation_id = m.conversation_id AND e.message_id = m.id
                          AND e.user_id = ($5::text[])[m.stream]) IS NOT NULL AS is_deleted
                FROM (
                    SELECT m.*, ($1::smallint[])[c] AS slot, ($2::uuid[])[c] AS conversation_id, ($7::uuid[])[ordinal] AS id,
                        CASE WHEN ($10::bigint[])[reply] = ordinal THEN ($11::uuid[])[reply] END AS reply_to,
                        CASE WHEN ($10::bigint[])[reply] = ordinal THEN (SELECT seqs FROM replies)[reply] END AS reply_seq,
                        CASE WHEN ($12::bigint[])[mention] = ordinal THEN ($13::text[])[mention] END AS mentions
                    FROM (
                        SELECT t.*, ($6::integer[])[ordinal] AS stream, ($4::integer[])[($6::integer[])[ordinal]] AS c,
                            width_bucket(ordinal, $10::bigint[]) AS reply, width_bucket(ordinal, $12::bigint[]) AS mention
                        FROM unnest($8::text[]) WITH ORDINALITY AS t(body, ordinal)
                        OFFSET 0
                    ) m
                    OFFSET 0
                ) m
                OFFSET 0
            ) m
        ), refused AS MATERIALIZED (
            SELECT coalesce(array_agg(ordinal ORDER BY ordinal), '{}') AS ordinals,
                coalesce(array_agg(outcome::smallint ORDER BY ordinal), '{}') AS outcomes
            FROM judged WHERE outcome <> 0
        ), advanced AS (
            UPDATE store.conversations c
            SET last_seq = c.last_seq + n.until - n.before,
                last_at = greatest(c.last_at, (SELECT \(ChangeTime.now)))
            FROM (
                SELECT k.slot, k.id, k.n, k.last - width_bucket(k.last, r.ordinals) AS until,
                    coalesce(($3::bigint[])[k.n - 1] - width_bucket(($3::bigint[])[k.n - 1], r.ordinals), 0) AS before
                FROM refused r, unnest($1::smallint[], $2::uuid[], $3::bigint[]) WITH ORDINALITY AS k(slot, id, last, n)
                OFFSET 0
            ) n
            WHERE c.slot = n.slot AND c.id = n.id AND n.until > n.before
            RETURNING n.n, c.last_seq - n.until AS base, c.last_at, c.member_count
        ), positions AS MATERIALIZED (
            SELECT coalesce(array_agg(n), '{}') AS conversations, coalesce(array_agg(base), '{}') AS bases,
                coalesce(array_agg(last_at), '{}') AS times, coalesce(array_agg(member_count), '{}') AS member_counts
            FROM (SELECT * FROM advanced ORDER BY n) a
        ), inserted AS (
            INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq, mentions, sent_at, created_at, deleted_at)
            SELECT slot, conversation_id, seq, id, seq, ($5::text[])[stream], CASE WHEN reply_to IS NULL THEN 1 ELSE 2 END,
                CASE WHEN NOT is_deleted THEN body END, reply_to, reply_seq,
                CASE WHEN NOT is_deleted THEN string_to_array(mentions, ',') END, ($9::timestamptz[])[ordinal], at,
                CASE WHEN is_deleted THEN at END
            FROM (
                SELECT *, (SELECT bases FROM positions)[p] + ordinal - width_bucket(ordinal, (SELECT ordinals FROM refused)) AS seq,
                    (SELECT times FROM positions)[p] AS at
                FROM (
                    SELECT *, width_bucket(c::bigint, (SELECT conversations FROM positions)) AS p FROM judged
                    WHERE outcome = 0
                    OFFSET 0
                ) j
                OFFSET 0
            ) j
        )
        SELECT p.conversations, p.bases, p.times, p.member_counts, f.ordinals, f.outcomes,
            coalesce((SELECT array_agg(ordinal ORDER BY ordinal) FROM judged WHERE outcome = 0 AND is_deleted), '{}'),
            r.ordinals, r.seqs, r.senders, r.bodies
        FROM positions p, refused f, replies r
        """)

    /// Places and subscripts are counted from 1 there.
    static func add(to batch: inout Batch, _ items: ArraySlice<SendItem>, _ layout: SendLayout) {
        if SendOneStatement.fits(items) { return SendOneStatement.add(to: &batch, items[items.startIndex]) }
        batch.execute(statement) { parameters in
            LockStatement.add(layout.conversations, to: &parameters)
            parameters.addArray(of: .int8)
            for end in layout.ends { parameters.append(Int64(end)) }
            parameters.addArray(of: .int4)
            for stream in layout.streams { parameters.append(Int32(stream.conversation + 1)) }
            parameters.addArray(of: .text)
            for stream in layout.streams { parameters.append(stream.sender) }
            addMessages(layout.order.lazy.map { items[items.startIndex + $0].message }, layout, to: &parameters)
            parameters.addArray(of: .int8)
            for reply in layout.replies { parameters.append(Int64(reply.place + 1)) }
            parameters.addArray(of: .uuid)
            for reply in layout.replies { parameters.append(reply.value) }
            parameters.addArray(of: .int8)
            for mention in layout.mentions { parameters.append(Int64(mention.place + 1)) }
            parameters.addArray(of: .text)
            for mention in layout.mentions { parameters.append(mention.value) }
        }
    }

    private static func addMessages(
        _ messages: some Collection<NewMessage>, _ layout: SendLayout, to parameters: inout Parameters
    ) {
        parameters.addArray(of: .int4)
        for stream in layout.streamOfPlace { parameters.append(Int32(stream + 1)) }
        parameters.addArray(of: .uuid)
        for message in messages { parameters.append(message.id) }
        parameters.addArray(of: .text)
        for message in messages { parameters.append(message.text) }
        parameters.addArray(of: .timestamptz)
        for message in messages { parameters.append(message.sentAt) }
    }

    /// What became of one message.
    enum Outcome {
        case created(Created)
        /// It is stored already, by this sender and with this content.
        case repeated
        case refused(Problem)
    }

    struct Created {
        let seq: Int64
        let createdAt: Timestamp
        /// Everybody but the sender.
        let recipientCount: Int
        let parent: Parent?
        /// It was deleted for everyone before it came.
        let isDeleted: Bool

        struct Parent {
            let seq: Int64
            let sender: UserID
            /// Empty where the sender of the reply hid or cleared it.
            let text: UnsafeRawBufferPointer
        }

        /// What its sender is shown of the parent.
        var parentView: ParentView {
            guard let parent, !parent.text.isEmpty else { return .unavailable }
            return .visible(sender: parent.sender, text: parent.text)
        }
    }

    /// Calls `body` with the index in the run and the outcome of each of its messages. Bytes in it live as long as the
    /// rows.
    static func forEachOutcome(in rows: Rows, _ layout: SendLayout, _ body: (Int, Outcome) -> Void) {
        guard let row = rows.first else { return }
        var positions = Positions(row)
        var refusals = ListByPlace<Int16>(places: row.array(4), values: row.array(5))
        let deletions: [Int64] = row.array(6)
        var deleted = ListByPlace(places: deletions, values: deletions)
        var parents = ListByPlace(places: row.array(7), values: parents(row))
        for (place, index) in layout.order.enumerated() {
            if let refusal = refusals.value(at: place) {
                body(index, outcome(refusal))
            } else {
                let conversation = layout.streams[layout.streamOfPlace[place]].conversation
                let position = positions.position(in: conversation)
                body(
                    index,
                    .created(
                        Created(
                            seq: position.base + Int64(place + 1 - refusals.count), createdAt: position.at,
                            recipientCount: position.members - 1, parent: parents.value(at: place),
                            isDeleted: deleted.value(at: place) != nil)))
            }
        }
    }

    private static func parents(_ row: Row) -> [Created.Parent] {
        let seqs: [Int64] = row.array(8)
        guard !seqs.isEmpty else { return [] }
        let senders: [UserID] = row.array(9), texts: [UnsafeRawBufferPointer] = row.array(10)
        return seqs.indices.map { Created.Parent(seq: seqs[$0], sender: senders[$0], text: texts[$0]) }
    }

    private static func outcome(_ number: Int16) -> Outcome {
        switch number {
        case 1: .refused(.unknownConversation)
        case 2: .repeated
        case 3: .refused(Problem(.conflict, "id: another message has this id"))
        case 4: .refused(.notAMember)
        default: .refused(Problem(.notReplyable, "replyTo: this message cannot be replied to"))
        }
    }
}

/// What happened to the conversations of a run, read in their order. Those in which nothing was stored are not there.
private struct Positions {
    struct Position {
        /// What the place of a message, from 1, less the refused ones before it, is added to.
        let base: Int64
        let at: Timestamp
        let members: Int
    }

    private let conversations: [Int64]
    private let bases: [Int64]
    private let times: [Timestamp]
    private let memberCounts: [Int32]
    private var next = 0

    init(_ row: Row) {
        conversations = row.array(0)
        bases = row.array(1)
        times = row.array(2)
        memberCounts = row.array(3)
    }

    /// `conversation` counts from 0.
    mutating func position(in conversation: Int) -> Position {
        while conversations[next] != conversation + 1 { next += 1 }
        return Position(base: bases[next], at: times[next], members: Int(memberCounts[next]))
    }
}

/// Values of some messages, read in the order of their places, which PostgreSQL counts from 1.
private struct ListByPlace<Value> {
    let places: [Int64]
    let values: [Value]
    /// How many were passed.
    private(set) var count = 0

    init(places: [Int64], values: [Value]) {
        self.places = places
        self.values = values
    }

    mutating func value(at place: Int) -> Value? {
        while count < places.count, places[count] < place + 1 { count += 1 }
        guard count < places.count, places[count] == place + 1 else { return nil }
        defer { count += 1 }
        return values[count]
    }
}

extension Problem {
    static let unknownConversation = Problem(.notFound, "there is no such conversation")
    static let notAMember = Problem(.forbidden, "only members may do this")
}
