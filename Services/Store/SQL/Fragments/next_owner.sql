-- CTE `next_owner`: who becomes an owner when the user of `stay`, the last one, goes: the longest-standing admin, or else
-- the longest-standing member. Owners and admins are found by an index (`memberships_leaders`); members are looked through,
-- which only a group without admins needs, once for each owner that it loses.
--
-- :slot
-- :conversation
-- :user
next_owner AS MATERIALIZED (
    SELECT h.user_id, h.role FROM (
        (SELECT s.user_id, s.role FROM store.published_appearances s
         WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL AND s.user_id <> :user
           AND s.role = {MemberRole.admin}
         ORDER BY s.joined_seq, s.user_id LIMIT 1)
        UNION ALL
        (SELECT s.user_id, s.role FROM store.published_appearances s
         WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL AND s.user_id <> :user
           AND s.role = {MemberRole.member} AND NOT EXISTS (
            SELECT FROM store.published_appearances a
            WHERE a.slot = :slot AND a.conversation_id = :conversation AND a.left_seq IS NULL AND a.user_id <> :user
              AND a.role = {MemberRole.admin})
         ORDER BY s.joined_seq, s.user_id LIMIT 1)
    ) h
    WHERE (SELECT leaver.role = {MemberRole.owner} FROM stay leaver) AND NOT EXISTS (
        SELECT FROM store.published_appearances o
        WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.left_seq IS NULL
          AND o.role = {MemberRole.owner} AND o.user_id <> :user)
)
