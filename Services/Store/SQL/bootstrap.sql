-- The state that a user's session starts from: everything but the texts, in one snapshot. Fans out over slots, like the list
-- of conversations. One row without a stay: there is none.
--
-- :user      text
-- :user_slot smallint
--
-- > log_id          uuid
-- > server_time     timestamptz
-- > last_useq       bigint         of the private stream
-- > conversation_id uuid           NULL without a stay, like the following
-- > last_seq        bigint
-- > joined_seq      bigint
-- > left_seq        bigint         0: the stay lasts
-- > status_version  bigint
-- > member_count    integer
-- > shows_presence  boolean
-- > first_useq      bigint         the first position of the private stream that is replayed
SELECT d.log_id, clock_timestamp() AS server_time,
    coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = :user_slot AND u.user_id = :user), 0)
        AS last_useq,
    s.conversation_id, s.last_seq, s.joined_seq, s.left_seq, s.status_version, s.member_count,
    coalesce((SELECT u.presence FROM store.user_settings u WHERE u.user_slot = :user_slot AND u.user_id = :user), true)
        AS shows_presence,
    greatest(
        coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = :user_slot AND u.user_id = :user), 0)
            - ({PrivateTail.kept} - 1),
        (SELECT h.useq FROM store.user_changes h WHERE h.user_slot = :user_slot AND h.user_id = :user
         ORDER BY h.useq LIMIT 1), 1) AS first_useq
FROM store.deployment d
LEFT JOIN (
    SELECT i.conversation_id, c.last_seq, m.joined_seq, m.left_seq, coalesce(p.status_version, 0) AS status_version,
        c.member_count
    FROM (
        -- Those that are not in the list, too: a device that was away goes on in them from its cursors.
        SELECT i.slot, i.conversation_id FROM store.inbox i WHERE i.user_slot = :user_slot AND i.user_id = :user OFFSET 0
    ) i
    -- Each looked up on its own (OFFSET 0): the planner might go through all that there are.
    CROSS JOIN LATERAL (
        SELECT c.last_seq, c.member_count FROM store.conversations c
        WHERE c.slot = i.slot AND c.id = i.conversation_id OFFSET 0
    ) c
    CROSS JOIN LATERAL (
        SELECT m.joined_seq, coalesce(m.left_seq, 0) AS left_seq FROM store.memberships m
        WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id = :user OFFSET 0
    ) m
    LEFT JOIN LATERAL (
        SELECT p.status_version FROM receipt.published_positions p
        WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id OFFSET 0
    ) p ON true
) s ON true
