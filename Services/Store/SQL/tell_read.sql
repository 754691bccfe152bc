-- Reports users' read positions to their own devices. A position beyond the last reported one is written to the private
-- stream, and one row per written entry is returned, in the order of the entries.
--
-- Each user and conversation occurs once. Locks: the users' streams (lock_streams), so of two racing positions the lower is
-- never reported after the higher.
--
-- :user_slots    smallint[]
-- :users         text[]
-- :conversations uuid[]
-- :read_seqs     bigint[]
--
-- > ordinal      bigint      which entry, from 1
-- > useq         bigint
-- > at           timestamptz
WITH moved AS MATERIALIZED (
    UPDATE store.inbox i SET told_read_seq = n.read_seq
    FROM unnest(:user_slots, :users, :conversations, :read_seqs) WITH ORDINALITY
        AS n(user_slot, user_id, conversation_id, read_seq, ordinal)
    WHERE i.user_slot = n.user_slot AND i.user_id = n.user_id AND i.conversation_id = n.conversation_id
      AND i.told_read_seq < n.read_seq
    RETURNING i.user_slot, i.user_id, i.slot, i.conversation_id, n.read_seq, n.ordinal
),
stream AS (
    UPDATE store.user_streams s SET last_useq = s.last_useq + n.count
    FROM (SELECT user_slot, user_id, count(*) FROM moved GROUP BY 1, 2 ORDER BY 2, 1) n
    WHERE s.user_slot = n.user_slot AND s.user_id = n.user_id
    RETURNING s.user_slot, s.user_id, s.last_useq - n.count AS base, {ChangeTime.now} AS at
),
-- A user's entries follow the row of their stream, whose position and time they take over: a join of the two would
-- compare each entry with each stream.
numbered AS MATERIALIZED (
    SELECT * FROM (
        SELECT user_slot, user_id, slot, conversation_id, read_seq, ordinal,
            first_value(base) OVER stream + row_number() OVER stream - 1 AS useq,
            first_value(at) OVER stream AS at
        FROM (
            SELECT user_slot, user_id, base, at, NULL::smallint AS slot, NULL::uuid AS conversation_id,
                NULL::bigint AS read_seq, NULL::bigint AS ordinal
            FROM stream
            UNION ALL
            SELECT user_slot, user_id, NULL, NULL, slot, conversation_id, read_seq, ordinal FROM moved
        ) u
        WINDOW stream AS (PARTITION BY user_slot, user_id ORDER BY ordinal NULLS FIRST)
    ) w
    WHERE ordinal IS NOT NULL
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
    SELECT user_slot, user_id, useq, {PrivateKind.readMoved}, at, slot, conversation_id, read_seq
    FROM numbered
)
SELECT ordinal, useq, at FROM numbered ORDER BY ordinal
