-- Replaces messages whose time is over with tombstones, a piece of a conversation, whose row is locked (lock_conversations). Each
-- is one change, as if its sender had deleted it for everyone. That is no activity: the conversation keeps its place in lists.
--
-- Messages with one lifetime expire in their order: `created_at` never decreases, and from reading on one that has been read for
-- as long waits for those before it. So what is over is a beginning of what is left of a range, and the first one behind it says
-- when to look again. Where none is left, the next one is not sent before now.
--
-- From reading on time counts from when the last of its readers had read a message: those who are in the conversation now, and
-- were when it came, but for its sender; as others are shown it (`shown_seq`), so that nobody learns who is away and who hides it.
-- What is not read now is not over before one lifetime has passed, whoever reads it next.
--
-- :slot         smallint
-- :conversation uuid
--
-- > last_seq  bigint    the last position that was taken, or NULL
-- > positions bigint    how many were taken, or NULL
-- > released  bigint    how many messages lost attachments
-- > is_due    boolean   whether there is more to do now
WITH range AS MATERIALIZED (
    SELECT l.from_seq, l.to_seq, l.done_seq, l.seconds * interval '1 second' AS lifetime, n.now,
        l.look_at IS NOT NULL AS is_from_reading, (
            SELECT c.member_count <= {ContractLimits.readingLifetimeMembers} FROM store.conversations c
            WHERE c.slot = :slot AND c.id = :conversation) AS is_small
    FROM (SELECT {ChangeTime.now} AS now) n, store.lifetimes l
    WHERE l.slot = :slot AND l.conversation_id = :conversation AND least(l.due_at, l.look_at) <= n.now
    ORDER BY least(l.due_at, l.look_at), l.from_seq LIMIT 1
), page AS MATERIALIZED (
    SELECT m.seq, m.id, m.sender_id, m.kind, m.deleted_at, m.attachments, m.created_at
    FROM range r CROSS JOIN LATERAL (
        SELECT * FROM store.messages m
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq > r.done_seq
          AND m.seq < coalesce(r.to_seq, {Int64.max})
        ORDER BY m.seq LIMIT {Lifetimes.messagesPerStep}
    ) m
), first AS MATERIALIZED (
    SELECT min(p.seq) AS seq FROM page p
), readers AS MATERIALIZED (
    -- How far each has read for one lifetime or longer, and when that may be further: one lifetime from now where nothing more is
    -- read. Of many acts of reading the first are looked at, and the others by the next step.
    SELECT s.user_id, s.joined_seq,
        coalesce(run.young_seq - 1, CASE WHEN run.is_full THEN run.last_seq END, h.shown_seq, 0) AS through_seq,
        CASE WHEN run.young_seq IS NULL AND run.is_full THEN r.now + interval '1 millisecond'
            ELSE coalesce(run.young_at, r.now) + r.lifetime END AS next_at
    FROM range r CROSS JOIN first CROSS JOIN LATERAL (
        SELECT s.user_id, s.joined_seq FROM store.published_appearances s
        WHERE r.is_from_reading AND r.is_small
          AND s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL
        LIMIT {ContractLimits.readingLifetimeMembers}
    ) s
    LEFT JOIN LATERAL (
        SELECT h.shown_seq FROM receipt.published_horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = s.user_id
        OFFSET 0
    ) h ON true
    CROSS JOIN LATERAL (
        SELECT min(n.from_seq) FILTER (WHERE n.at + r.lifetime > r.now) AS young_seq,
            min(n.at) FILTER (WHERE n.at + r.lifetime > r.now) AS young_at,
            max(n.to_seq) AS last_seq, count(*) = {Lifetimes.runsPerReader} AS is_full
        FROM (
            -- Those of both kinds together pass each position once that is shown, at times that never decrease.
            SELECT n.* FROM (VALUES ({RunKind.read}::smallint), ({RunKind.both}::smallint)) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT n.from_seq, n.to_seq, n.at FROM receipt.published_receipt_runs n
                WHERE n.slot = :slot AND n.conversation_id = :conversation AND n.user_id = s.user_id AND n.kind = k.kind
                  AND n.to_seq >= first.seq
                -- A number that the planner does not know, so it expects to need few of them and walks along the index.
                ORDER BY n.to_seq LIMIT (SELECT {Lifetimes.runsPerReader})
            ) n
            ORDER BY n.to_seq LIMIT {Lifetimes.runsPerReader}
        ) n
    ) run
), scanned AS MATERIALIZED (
    SELECT p.*, CASE
            WHEN NOT r.is_from_reading THEN p.created_at + r.lifetime
            ELSE least(
                p.created_at + {ContractLimits.longestLifetime},
                greatest(
                    p.created_at + r.lifetime,
                    CASE WHEN NOT r.is_small THEN r.now + r.lifetime END,
                    (SELECT max(o.next_at) FROM readers o
                     WHERE o.user_id <> p.sender_id AND o.joined_seq <= p.seq AND o.through_seq < p.seq)))
        END AS due_at
    FROM page p, range r
), waiting AS MATERIALIZED (
    SELECT s.seq, s.due_at FROM scanned s, range r WHERE s.due_at > r.now ORDER BY s.seq LIMIT 1
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
        tapback_count = 0, tapback_counts = NULL, deleted_at = moved.at, is_expired = true
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
), no_poll AS (
    DELETE FROM store.polls r USING hit h
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = h.id
), no_votes AS (
    DELETE FROM store.votes r USING hit h
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
    UPDATE store.lifetimes l
    SET done_seq = n.done_seq, due_at = CASE WHEN l.look_at IS NULL THEN n.due_at ELSE l.due_at END,
        look_at = CASE WHEN l.look_at IS NOT NULL THEN n.due_at END
    FROM next n
    WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.from_seq = n.from_seq AND n.due_at IS NOT NULL
)
SELECT (SELECT moved.last_seq FROM moved) AS last_seq, (SELECT moved.positions FROM moved) AS positions,
    (SELECT count(*) FROM released) AS released,
    EXISTS (SELECT FROM store.lifetimes l, range r
        WHERE l.slot = :slot AND l.conversation_id = :conversation AND l.from_seq <> r.from_seq
          AND least(l.due_at, l.look_at) <= r.now)
    OR EXISTS (SELECT FROM next n, range r WHERE n.due_at <= r.now) AS is_due
