-- Replaces messages whose time is over with tombstones, a piece of a conversation, whose row is locked (lock_conversations). Each
-- is one change, as if its sender had deleted it for everyone. That is no activity: the conversation keeps its place in lists.
--
-- Messages with one lifetime expire in their order, because `created_at` never decreases. So what is over is a beginning of what is
-- left of a range, and the first one behind it says when to look again. Where none is left, the next one is not sent before now.
--
-- :slot         smallint
-- :conversation uuid
--
-- > last_seq  bigint    the last position that was taken, or NULL
-- > positions bigint    how many were taken, or NULL
-- > released  bigint    how many messages lost attachments
-- > is_due    boolean   whether there is more to do now
WITH range AS MATERIALIZED (
    SELECT l.from_seq, l.to_seq, l.done_seq, l.seconds * interval '1 second' AS lifetime, n.now
    FROM (SELECT {ChangeTime.now} AS now) n, store.lifetimes l
    WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.due_at <= n.now
    ORDER BY l.due_at LIMIT 1
), scanned AS MATERIALIZED (
    SELECT m.seq, m.id, m.sender_id, m.kind, m.deleted_at, m.attachments, m.created_at + r.lifetime AS due_at, m.created_at + r.lifetime <= r.now AS is_over
    FROM range r CROSS JOIN LATERAL (
        SELECT * FROM store.messages m
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq > r.done_seq
          AND m.seq < coalesce(r.to_seq, {Int64.max})
        ORDER BY m.seq LIMIT {Lifetimes.messagesPerStep}
    ) m
), waiting AS MATERIALIZED (
    SELECT s.seq, s.due_at FROM scanned s WHERE NOT s.is_over ORDER BY s.seq LIMIT 1
), over AS MATERIALIZED (
    SELECT s.* FROM scanned s WHERE s.seq < coalesce((SELECT w.seq FROM waiting w), {Int64.max})
), hit AS MATERIALIZED (
    SELECT o.*, row_number() OVER (ORDER BY o.seq) AS place FROM over o
    WHERE o.kind <> {MessageKind.system} AND o.deleted_at IS NULL
), moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + h.count
    FROM (SELECT count(*) AS count FROM hit) h, range r
    WHERE c.slot = :slot AND c.id = :conversation AND h.count > 0
    RETURNING c.last_seq, c.last_seq - h.count AS base, greatest(r.now, c.last_at) AS at, h.count AS positions
), change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, about_seq)
    SELECT :slot, :conversation, moved.base + h.place, {ChangeKind.messageDeleted}, h.sender_id, moved.at, h.id, h.seq
    FROM hit h, moved
), expired AS (
    UPDATE store.messages m
    SET changed_seq = moved.base + h.place, body = NULL, attachments = NULL, extra = NULL, pinned_seq = NULL, mentions = NULL, forwarded_by = NULL,
        tapback_count = 0, deleted_at = moved.at, is_expired = true
    FROM hit h, moved
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = h.seq
), released AS (
    INSERT INTO store.media_releases (slot, conversation_id, message_id, sender_id, media)
    SELECT :slot, :conversation, h.id, h.sender_id, {media_of(row => h)} FROM hit h WHERE h.attachments IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING 1
), unindexed AS (
    {unindexed(seqs => SELECT h.seq FROM hit h)}
), unindexed_before AS (
    {unindexed_before(seqs => SELECT h.seq FROM hit h)}
), no_revisions AS (
    DELETE FROM store.revisions r USING hit h
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = h.id
), no_tapbacks AS (
    DELETE FROM store.tapbacks r USING hit h
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = h.id
), next AS MATERIALIZED (
    SELECT r.from_seq, coalesce((SELECT max(o.seq) FROM over o), r.done_seq) AS done_seq, r.to_seq,
        CASE
            WHEN EXISTS (SELECT FROM waiting) THEN (SELECT w.due_at FROM waiting w)
            WHEN (SELECT count(*) FROM scanned) = {Lifetimes.messagesPerStep} THEN r.now
            WHEN r.to_seq IS NULL THEN r.now + r.lifetime
        END AS due_at  -- NULL: all of the range has expired.
    FROM range r
), ended AS (
    DELETE FROM store.lifetimes l USING next n
    WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.from_seq = n.from_seq AND n.due_at IS NULL
), continued AS (
    UPDATE store.lifetimes l SET done_seq = n.done_seq, due_at = n.due_at FROM next n
    WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.from_seq = n.from_seq AND n.due_at IS NOT NULL
)
SELECT (SELECT moved.last_seq FROM moved) AS last_seq, (SELECT moved.positions FROM moved) AS positions,
    (SELECT count(*) FROM released) AS released,
    EXISTS (SELECT FROM store.lifetimes l, range r
        WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.from_seq <> r.from_seq AND l.due_at <= r.now)
    OR EXISTS (SELECT FROM next n, range r WHERE n.due_at <= r.now) AS is_due
