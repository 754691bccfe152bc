-- Removes a piece of a conversation that is kept no longer, from its beginning, and tells where what is kept begins. `created_at`
-- never decreases along positions, so what is too old is a beginning. That is no activity: the conversation keeps its place in lists.
--
-- The piece ends with a message. Changes of members and of the conversation stay: what former members see is worked out from them.
--
-- Locks: the conversation (lock_conversations) and its index (lock_searches).
--
-- :slot         smallint
-- :conversation uuid
-- :days         integer    how long messages stay in all conversations, or NULL
--
-- > last_seq bigint    the position that tells of it; NULL: nothing was removed
-- > messages bigint    how many were
-- > released bigint    how many of them had attachments
-- > is_due   boolean   whether there is more to do now
WITH found AS MATERIALIZED (
    SELECT c.creator_id, coalesce(c.kept_from, 1) AS kept_from, n.now, n.now - least(:days, (
            SELECT r.days FROM store.retentions r WHERE r.slot = :slot AND r.conversation_id = :conversation
        )) * interval '1 day' AS before
    FROM (SELECT {ChangeTime.now} AS now) n, store.conversations c
    WHERE c.slot = :slot AND c.id = :conversation AND NOT EXISTS (
        SELECT FROM store.imports i
        WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.ended_at IS NULL)
), page AS MATERIALIZED (
    SELECT m.seq, m.id, m.sender_id, m.attachments, m.created_at > f.before AS is_kept,
        -- Its tapbacks go with it.
        sum(1 + m.tapback_count) OVER (ORDER BY m.seq) - 1 - m.tapback_count AS rows_before
    FROM found f CROSS JOIN LATERAL (
        SELECT * FROM store.messages m
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq >= f.kept_from
        ORDER BY m.seq LIMIT {Retention.messagesPerStep}
    ) m
    WHERE f.before IS NOT NULL
), old AS MATERIALIZED (
    SELECT p.* FROM page p WHERE p.seq < coalesce((SELECT min(k.seq) FROM page k WHERE k.is_kept), {Int64.max})
), through AS MATERIALIZED (
    SELECT least(
        (SELECT max(o.seq) FROM old o WHERE o.rows_before < {Retention.rowsPerStep}),
        -- As many changes as a step looks at.
        (SELECT h.seq FROM found f, store.changes h
         WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq >= f.kept_from
         ORDER BY h.seq OFFSET {Retention.rowsPerStep} LIMIT 1)) AS seq
    WHERE EXISTS (SELECT FROM old)
), moved AS (
    UPDATE store.conversations c SET last_seq = c.last_seq + 1, kept_from = t.seq + 1
    FROM through t, found f
    WHERE c.slot = :slot AND c.id = :conversation
    RETURNING c.last_seq, c.kept_from, f.kept_from AS from_seq, f.creator_id, greatest(f.now, c.last_at) AS at
), change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, about_seq)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.historyTrimmed}, moved.creator_id, moved.at, moved.kept_from
    FROM moved
), gone AS MATERIALIZED (
    SELECT o.* FROM old o, moved WHERE o.seq < moved.kept_from
), released AS (
    INSERT INTO store.media_releases (slot, conversation_id, message_id, sender_id, media)
    SELECT :slot, :conversation, g.id, g.sender_id, {media_of(row => g)} FROM gone g WHERE g.attachments IS NOT NULL
    ON CONFLICT DO NOTHING
    RETURNING 1
), no_messages AS (
    DELETE FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq < (SELECT moved.kept_from FROM moved)
      AND m.seq >= (SELECT moved.from_seq FROM moved)
), no_changes AS (
    DELETE FROM store.changes h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq < (SELECT moved.kept_from FROM moved)
      AND h.seq >= (SELECT moved.from_seq FROM moved)
      AND (h.message_id IS NOT NULL OR h.kind = {ChangeKind.historyTrimmed})
), no_revisions AS (
    DELETE FROM store.revisions r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT g.id FROM gone g))
), no_tapbacks AS (
    DELETE FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT g.id FROM gone g))
), no_polls AS (
    DELETE FROM store.polls r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT g.id FROM gone g))
), no_votes AS (
    DELETE FROM store.votes r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = ANY (ARRAY(SELECT g.id FROM gone g))
), no_hidden AS (
    DELETE FROM store.hidden d
    WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.seq < (SELECT moved.kept_from FROM moved)
), unindexed AS (
    DELETE FROM store.search_blocks b
    WHERE b.slot = :slot AND b.conversation_id = :conversation
      AND b.block < (SELECT moved.kept_from / {SearchBlock.positions} FROM moved)
), at_edge AS MATERIALIZED (
    -- In the block that what is kept begins in.
    SELECT g.seq FROM gone g, moved WHERE g.seq / {SearchBlock.positions} = moved.kept_from / {SearchBlock.positions}
), unindexed_at_edge AS (
    {unindexed(seqs => SELECT e.seq FROM at_edge e)}
), unindexed_before AS (
    {unindexed_before(seqs => SELECT g.seq FROM gone g)}
)
SELECT (SELECT moved.last_seq FROM moved) AS last_seq, (SELECT count(*) FROM gone) AS messages,
    (SELECT count(*) FROM released) AS released,
    EXISTS (SELECT FROM moved WHERE EXISTS (SELECT FROM old o WHERE o.seq >= moved.kept_from))
    OR (SELECT count(*) FROM old) = {Retention.messagesPerStep} AS is_due
