-- CTE `heir`: who becomes an owner when the user of `stay`, the last one, goes: the longest-standing admin, or else
-- the longest-standing member.
--
-- :slot
-- :conversation
-- :user
heir AS MATERIALIZED (
    SELECT s.user_id, s.role FROM store.published_appearances s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL AND s.user_id <> :user
      AND (SELECT leaver.role = {MemberRole.owner} FROM stay leaver) AND NOT EXISTS (
        SELECT FROM store.published_appearances o
        WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.left_seq IS NULL
          AND o.role = {MemberRole.owner} AND o.user_id <> :user)
    ORDER BY s.role = {MemberRole.admin} DESC, s.joined_seq, s.user_id LIMIT 1
)
