-- CTE `standing`: what the actor is in the conversation. Always one row.
--
-- :slot
-- :conversation
-- :actor
standing AS MATERIALIZED (
    SELECT count(*) > 0 AS was_member, coalesce(bool_or(s.left_seq IS NULL), false) AS is_member,
        coalesce(bool_or(s.left_seq IS NULL AND s.role = {MemberRole.owner}), false) AS is_owner,
        max(s.role) FILTER (WHERE s.left_seq IS NULL) AS role,
        coalesce(bool_or(s.left_seq = {RequestsStatement.end}), false) AS is_asked  -- A request waits.
    FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
)
