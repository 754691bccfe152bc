-- Replaces a user's messages with tombstones, and removes the user's tapbacks and votes, mentions of the user, and the name as the
-- origin of forwarded ones from other messages: a piece of a conversation, whose row is locked (lock_conversations). Each changed message is one change, as if made by the
-- user, so every client that holds it is notified.
--
-- :slot         smallint
-- :conversation uuid
-- :user         text
-- :user_slot    smallint
-- :after        bigint      the position after which the piece begins
--
-- > next      bigint    the position after which the next piece begins; 0: nothing is left
-- > last_seq  bigint    the last position that was taken, or NULL
-- > positions bigint    how many were taken, or NULL
WITH scanned AS MATERIALIZED (
    SELECT m.seq, m.id, m.sender_id, m.kind, m.deleted_at, m.tapback_count, m.mentions, m.forwarded_by
    FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq > :after
    ORDER BY m.seq LIMIT {ErasureStatements.scanLimit}
), judged AS MATERIALIZED (
    SELECT s.seq, s.id, s.sender_id = :user AND s.kind <> {MessageKind.system} AND s.deleted_at IS NULL AS is_own,
        s.tapback_count > 0 AND coalesce((
            SELECT true FROM store.tapbacks t
            WHERE t.slot = :slot AND t.conversation_id = :conversation AND t.message_id = s.id AND t.user_id = :user), false)
            AS has_tapback,
        CASE WHEN s.kind = {MessageKind.poll} THEN coalesce((
            SELECT v.options FROM store.votes v
            WHERE v.slot = :slot AND v.conversation_id = :conversation AND v.message_id = s.id AND v.user_id = :user), 0)
            ELSE 0 END AS vote,
        coalesce(s.mentions @> ARRAY[:user], false) AS has_mention,
        coalesce(s.forwarded_by = :user, false) AS is_origin
    FROM scanned s
), hit AS MATERIALIZED (
    SELECT j.*, row_number() OVER (ORDER BY j.seq) AS place FROM judged j
    WHERE j.is_own OR j.has_tapback OR j.vote > 0 OR j.has_mention OR j.is_origin
    ORDER BY j.seq LIMIT {ErasureStatements.hitsLimit}
), moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + h.count,
        last_at = greatest({ChangeTime.now}, c.last_at)
    FROM (SELECT count(*) AS count FROM hit) h
    WHERE c.slot = :slot AND c.id = :conversation AND h.count > 0
    RETURNING c.last_seq, c.last_seq - h.count AS base, c.last_at, h.count AS positions
), change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id, about_seq)
    SELECT :slot, :conversation, moved.base + h.place,
        CASE WHEN h.is_own THEN {ChangeKind.messageDeleted}
            WHEN h.has_tapback THEN {ChangeKind.tapbackRemoved}
            WHEN h.vote > 0 THEN {ChangeKind.pollVoted}
            ELSE {ChangeKind.messageEdited} END,
        :user, moved.last_at, h.id, CASE WHEN h.is_own THEN h.seq END
    FROM hit h, moved
), erased AS (
    UPDATE store.messages m
    SET changed_seq = moved.base + h.place,
        body = CASE WHEN NOT h.is_own THEN m.body END,
        attachments = CASE WHEN NOT h.is_own THEN m.attachments END,
        extra = CASE WHEN NOT h.is_own THEN m.extra END,
        pinned_seq = CASE WHEN NOT h.is_own THEN m.pinned_seq END,
        mentions = CASE WHEN NOT h.is_own THEN nullif(array_remove(m.mentions, :user), '{}') END,
        forwarded_by = CASE WHEN NOT h.is_own AND NOT h.is_origin THEN m.forwarded_by END,
        deleted_at = CASE WHEN h.is_own THEN moved.last_at ELSE m.deleted_at END,
        tapback_count = CASE WHEN h.is_own THEN 0 WHEN h.has_tapback THEN m.tapback_count - 1
            ELSE m.tapback_count END,
        tapback_counts = CASE WHEN NOT h.is_own AND NOT h.has_tapback THEN m.tapback_counts END
    FROM hit h, moved
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = h.seq
), unindexed AS (
    {unindexed(seqs => SELECT h.seq FROM hit h WHERE h.is_own)}
), unindexed_before AS (
    {unindexed_before(seqs => SELECT h.seq FROM hit h WHERE h.is_own)}
), no_revisions AS (
    DELETE FROM store.revisions r USING hit h
    WHERE h.is_own AND r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = h.id
    RETURNING 1
), no_tapbacks AS (
    DELETE FROM store.tapbacks r USING hit h
    WHERE (h.is_own OR r.user_id = :user) AND r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = h.id
    RETURNING r.user_id
), no_polls AS (
    DELETE FROM store.polls p USING hit h
    WHERE h.is_own AND p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = h.id
), polls_counted AS (
    UPDATE store.polls p
    SET counts = ARRAY(
            SELECT p.counts[o.place] - ((h.vote >> (o.place - 1)) & 1)
            FROM generate_series(1, cardinality(p.counts)) AS o(place) ORDER BY o.place),
        voters = p.voters - 1
    FROM hit h
    WHERE NOT h.is_own AND h.vote > 0 AND p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = h.id
), no_votes AS (
    DELETE FROM store.votes r USING hit h
    WHERE (h.is_own OR r.user_id = :user) AND r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = h.id
    RETURNING r.user_id
), counted AS (
    UPDATE store.erasures e
    SET messages = e.messages + (SELECT count(*) FROM hit h WHERE h.is_own),
        revisions = e.revisions + (SELECT count(*) FROM no_revisions),
        tapbacks = e.tapbacks + (SELECT count(*) FROM no_tapbacks r WHERE r.user_id = :user),
        votes = e.votes + (SELECT count(*) FROM no_votes r WHERE r.user_id = :user),
        mentions = e.mentions + (SELECT count(*) FROM hit h WHERE h.has_mention AND NOT h.is_own)
    FROM moved
    WHERE e.user_slot = :user_slot AND e.user_id = :user
)
SELECT
    CASE
        WHEN (SELECT count(*) FROM hit) = {ErasureStatements.hitsLimit} THEN (SELECT max(h.seq) FROM hit h)
        WHEN (SELECT count(*) FROM scanned) = {ErasureStatements.scanLimit} THEN (SELECT max(s.seq) FROM scanned s)
        ELSE 0::bigint
    END AS next,
    (SELECT moved.last_seq FROM moved) AS last_seq, (SELECT moved.positions FROM moved) AS positions
