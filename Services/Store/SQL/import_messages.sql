-- Stores a run of messages of one import, and the edits and deletions of earlier messages whose time has come.
--
-- Positions follow time. Messages are in the order of their times; edits and deletions, which come with their message, wait
-- in `import_events` until a record of a later time arrives, so that it makes no difference into which runs an import is
-- cut. At the same time messages come first, then what happened to messages, in their order.
--
-- As in send_messages, arrays are looked up by subscripts and `width_bucket`, because a generic plan joins them by nested
-- loops. Places and subscripts count from 1. In a run no message occurs twice, and no reply comes with its parent.
--
-- Locks: the conversation (lock_conversations) and its index (lock_searches).
--
-- :slot          smallint
-- :conversation  uuid
-- :ids           uuid[]
-- :senders       text[]
-- :texts         text[]         the first text; NULL where the message was deleted
-- :times         timestamptz[]
-- :latest_times  timestamptz[]  of the message and of all that happened to it
-- :parents       uuid[]         or NULL
-- :attachments   text[]         JSON arrays, or NULL
-- :extras        text[]         JSON objects, or NULL
-- :sealed        boolean[]
-- :forwarded_by  text[]         who wrote a forwarded one, or NULL
-- :forwarded_times timestamptz[] as well
-- :options       text[]         of a poll, a line for each, or NULL
-- :are_multiple  boolean[]
-- :event_places  bigint[]       the places of messages with edits or a deletion, ascending
-- :event_steps   smallint[]
-- :event_times   timestamptz[]
-- :event_texts   text[]         NULL: the deletion
-- :until         timestamptz    a time that the import has come to, or NULL
-- :is_last       boolean        nothing comes later
--
-- > verdicts smallint[] ImportVerdict of each message
WITH {import_state},
judged AS MATERIALIZED (
    SELECT j.*, CASE
            WHEN j.is_open IS NULL THEN {ImportVerdict.noImport}
            WHEN j.known IS NOT NULL THEN j.known
            WHEN NOT j.is_open THEN {ImportVerdict.hasEnded}
            WHEN j.latest > j.now THEN {ImportVerdict.isInFuture}
            WHEN j.is_member IS NULL THEN {ImportVerdict.isNoMember}
            WHEN j.reply_to IS NOT NULL AND j.parent_seq IS NULL THEN {ImportVerdict.notReplyable}
            ELSE {ImportVerdict.stored}
        END AS outcome
    FROM (
        SELECT m.*, s.is_open, s.now, s.last_at,
            -- What was edited or deleted since cannot be compared.
            (SELECT CASE
                WHEN (k.sender_id, k.created_at) <> (m.sender_id, m.at) THEN {ImportVerdict.idIsTaken}
                WHEN k.edited_at IS NULL AND k.deleted_at IS NULL
                    AND (k.body, k.reply_to, k.attachments, k.extra, k.kind = {MessageKind.sealed}, k.forwarded_at, (
                            SELECT (array_to_string(l.options, E'\n'), l.is_multiple)
                                IS NOT DISTINCT FROM (:options[m.ordinal], :are_multiple[m.ordinal])
                            FROM store.polls l
                            WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.message_id = m.id))
                        IS DISTINCT FROM (
                            m.body, m.reply_to, :attachments[m.ordinal], :extras[m.ordinal], :sealed[m.ordinal],
                            :forwarded_times[m.ordinal], CASE WHEN :options[m.ordinal] IS NOT NULL THEN true END)
                    THEN {ImportVerdict.idIsTaken}
                ELSE {ImportVerdict.repeated} END
             FROM store.messages k
             WHERE k.slot = :slot AND k.conversation_id = :conversation AND k.id = m.id) AS known,
            (SELECT true FROM store.import_stays p
             WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.user_id = m.sender_id
               AND p.left_seq IS NULL) AS is_member,
            -- As in send_messages: within a stay of the sender, and not deleted by then.
            CASE WHEN m.reply_to IS NOT NULL THEN (
                SELECT p.seq FROM store.messages p
                WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.id = m.reply_to
                  AND p.kind IN ({MessageKind.text}, {MessageKind.reply}, {MessageKind.poll}) AND p.deleted_at IS NULL AND (
                    SELECT true FROM store.import_stays y
                    WHERE y.slot = :slot AND y.conversation_id = :conversation AND y.user_id = m.sender_id
                      AND p.seq BETWEEN y.joined_seq AND coalesce(y.left_seq, p.seq) LIMIT 1) IS NOT NULL
            ) END AS parent_seq
        FROM (
            SELECT * FROM unnest(:ids, :senders, :texts, :times, :latest_times, :parents)
                WITH ORDINALITY AS t(id, sender_id, body, at, latest, reply_to, ordinal)
            OFFSET 0
        ) m LEFT JOIN state s ON true
        OFFSET 0
    ) j
),
-- None may be earlier than one that is stored before it.
timed AS MATERIALIZED (
    SELECT t.*, CASE WHEN t.outcome = {ImportVerdict.stored} AND t.at < greatest(t.last_at, t.reached)
            THEN {ImportVerdict.isBackwards} ELSE t.outcome END AS verdict
    FROM (
        SELECT j.*, max(j.at) FILTER (WHERE j.outcome = {ImportVerdict.stored})
            OVER (ORDER BY j.ordinal ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS reached
        FROM judged j
    ) t
),
reached AS MATERIALIZED (
    SELECT CASE
            WHEN NOT s.is_open THEN '-infinity'::timestamptz
            WHEN :is_last THEN 'infinity'::timestamptz
            ELSE greatest(CASE WHEN :until <= s.now THEN :until END, t.at, '-infinity'::timestamptz)
        END AS until, coalesce(t.verdicts, '{}') AS verdicts
    FROM state s, (
        SELECT max(t.at) FILTER (WHERE t.verdict = {ImportVerdict.stored}) AS at,
            array_agg(t.verdict::smallint ORDER BY t.ordinal) AS verdicts
        FROM timed t
    ) t
),
-- What came with the messages of this run. `target` tells one message from another: below 0, one of the run.
brought AS MATERIALIZED (
    SELECT e.*, :ids[e.place] AS message_id, :senders[e.place] AS sender_id
    FROM unnest(:event_places, :event_steps, :event_times, :event_texts) AS e(place, step, at, body), reached r
    WHERE r.verdicts[e.place] = {ImportVerdict.stored}
),
due AS MATERIALIZED (
    SELECT row_number() OVER (ORDER BY d.at, d.is_event, d.seq NULLS LAST, d.target DESC, d.step) AS place, d.*
    FROM (
        SELECT t.at, false AS is_event, NULL::bigint AS seq, -t.ordinal AS target, 0::smallint AS step, t.id AS message_id,
            t.sender_id, t.body, t.reply_to, t.parent_seq
        FROM timed t WHERE t.verdict = {ImportVerdict.stored}
        UNION ALL
        SELECT b.at, true, NULL, -b.place, b.step, b.message_id, b.sender_id, b.body, NULL, NULL
        FROM brought b, reached r WHERE b.at < r.until
        UNION ALL
        -- A sender who was erased meanwhile left tombstones, which nothing more happens to.
        SELECT e.at, true, e.seq, e.seq, e.step, e.message_id, e.sender_id, e.body, NULL, NULL
        FROM reached r, store.import_events e
        WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.at < r.until AND (
            SELECT m.deleted_at IS NULL FROM store.messages m
            WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = e.seq)
    ) d
),
-- What a message was before each step, and whether the step is its last one of now.
steps AS MATERIALIZED (
    SELECT d.*, first_value(d.place) OVER w AS first_place, first_value(d.at) OVER w AS created_at,
        first_value(d.reply_to) OVER w AS parent, first_value(d.parent_seq) OVER w AS reply_seq,
        lag(d.body) OVER w AS body_before, lag(d.at) OVER w AS at_before, lead(d.place) OVER w IS NULL AS is_last
    FROM due d
    WINDOW w AS (PARTITION BY d.target ORDER BY d.place)
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + d.count, last_at = greatest(c.last_at, d.at)
    FROM (SELECT count(*) AS count, max(d.at) AS at FROM due d) d
    WHERE c.slot = :slot AND c.id = :conversation AND d.count > 0
    RETURNING c.last_seq - d.count AS base
),
inserted AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq, attachments, extra, sent_at, created_at, edited_at, deleted_at, forwarded_by, forwarded_at)
    SELECT :slot, :conversation, moved.base + s.first_place, s.message_id, moved.base + s.place, s.sender_id,
        CASE
            WHEN :options[-s.target] IS NOT NULL THEN {MessageKind.poll}
            WHEN :sealed[-s.target] THEN {MessageKind.sealed} WHEN s.parent IS NULL THEN {MessageKind.text} ELSE {MessageKind.reply} END,
        s.body, s.parent, s.reply_seq,
        CASE WHEN s.body IS NOT NULL THEN :attachments[-s.target] END, CASE WHEN s.body IS NOT NULL THEN :extras[-s.target] END,
        s.created_at, s.created_at, CASE WHEN s.is_event AND s.body IS NOT NULL THEN s.at END,
        CASE WHEN s.is_event AND s.body IS NULL THEN s.at END,
        CASE WHEN s.body IS NOT NULL THEN :forwarded_by[-s.target] END, :forwarded_times[-s.target]
    FROM steps s, moved WHERE s.target < 0 AND s.is_last
),
-- What is deleted later comes without one, so no deletion of an import finds any.
poll AS (
    INSERT INTO store.polls (slot, conversation_id, message_id, options, is_multiple, counts, voters)
    SELECT :slot, :conversation, k.id, k.options, k.is_multiple, array_fill(0, ARRAY[cardinality(k.options)]), 0
    FROM (
        SELECT t.id, string_to_array(:options[t.ordinal], E'\n') AS options, :are_multiple[t.ordinal] AS is_multiple
        FROM timed t WHERE t.verdict = {ImportVerdict.stored} AND :options[t.ordinal] IS NOT NULL
    ) k
),
-- What becomes of earlier messages. Their rows are found by arrays, not by joins: see above.
outcomes AS MATERIALIZED (
    SELECT coalesce(array_agg(s.seq ORDER BY s.seq), '{}') AS seqs, array_agg(s.place ORDER BY s.seq) AS places,
        array_agg(s.at ORDER BY s.seq) AS times, array_agg(s.body ORDER BY s.seq) AS texts
    FROM steps s WHERE s.seq IS NOT NULL AND s.is_last
),
deleted AS MATERIALIZED (
    SELECT coalesce(array_agg(s.message_id), '{}') AS ids FROM steps s WHERE s.seq IS NOT NULL AND s.body IS NULL
),
changed AS (
    UPDATE store.messages m
    SET (changed_seq, body, edited_at, deleted_at, attachments, extra, mentions, forwarded_by, tapback_count, tapback_counts) = (
        SELECT moved.base + n.place, n.body, CASE WHEN n.body IS NULL THEN m.edited_at ELSE n.at END,
            CASE WHEN n.body IS NULL THEN n.at END, CASE WHEN n.body IS NOT NULL THEN m.attachments END,
            CASE WHEN n.body IS NOT NULL THEN m.extra END, CASE WHEN n.body IS NOT NULL THEN m.mentions END,
            CASE WHEN n.body IS NOT NULL THEN m.forwarded_by END,
            CASE WHEN n.body IS NULL THEN 0 ELSE m.tapback_count END,
            CASE WHEN n.body IS NOT NULL THEN m.tapback_counts END
        FROM moved, (
            SELECT o.places[k.n] AS place, o.times[k.n] AS at, o.texts[k.n] AS body
            FROM outcomes o, LATERAL (SELECT width_bucket(m.seq, o.seqs) AS n) k
        ) n)
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = ANY ((SELECT o.seqs FROM outcomes o)::bigint[])
),
revision AS (
    INSERT INTO store.revisions (slot, conversation_id, message_id, replaced_seq, body, at)
    SELECT :slot, :conversation, s.message_id, moved.base + s.place, coalesce(s.body_before, m.body),
        coalesce(s.at_before, m.edited_at, m.created_at)
    FROM steps s CROSS JOIN moved LEFT JOIN LATERAL (
        SELECT m.body, m.edited_at, m.created_at FROM store.messages m
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = s.seq OFFSET 0
    ) m ON true
    WHERE s.is_event AND s.body IS NOT NULL
),
no_tapbacks AS (
    DELETE FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY ((SELECT d.ids FROM deleted d)::uuid[])
),
unindexed AS (
    {unindexed(seqs => SELECT unnest(o.seqs) AS seq FROM outcomes o)}
),
unindexed_before AS (
    {unindexed_before(seqs => SELECT unnest(o.seqs) AS seq FROM outcomes o)}
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, about_seq)
    SELECT :slot, :conversation, moved.base + s.place,
        CASE WHEN s.body IS NULL THEN {ChangeKind.messageDeleted} ELSE {ChangeKind.messageEdited} END, s.sender_id, s.at,
        s.message_id, CASE WHEN s.body IS NULL THEN coalesce(s.seq, moved.base + s.first_place) END
    FROM steps s, moved WHERE s.is_event
),
no_longer_waiting AS (
    DELETE FROM store.import_events e
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.at < (SELECT r.until FROM reached r)
),
-- The positions of the run's messages, by their places.
positions AS MATERIALIZED (
    SELECT coalesce(array_agg(-s.target ORDER BY s.target DESC), '{}') AS places,
        coalesce(array_agg(moved.base + s.place ORDER BY s.target DESC), '{}') AS seqs
    FROM steps s, moved WHERE s.target < 0 AND NOT s.is_event
),
waiting AS (
    INSERT INTO store.import_events (slot, conversation_id, at, seq, step, message_id, sender_id, body)
    SELECT :slot, :conversation, b.at, p.seqs[width_bucket(b.place, p.places)], b.step, b.message_id, b.sender_id, b.body
    FROM brought b, reached r, positions p WHERE b.at >= r.until
)
SELECT coalesce((SELECT array_agg(t.verdict::smallint ORDER BY t.ordinal) FROM timed t), '{}') AS verdicts
