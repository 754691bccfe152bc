-- CTE `advanced`: the conversation with the position of its next message, if this is `stored` by the CTE `judged`,
-- and its `role` may write. That is seen here, where the conversation's row is at hand.
--
-- :slot
-- :conversation
advanced AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest(c.last_at, {ChangeTime.now})
    WHERE c.slot = :slot AND c.id = :conversation AND (
        SELECT outcome = {SendVerdict.stored}
            AND {is_permitted(permissions => c.permissions, bits => {GroupPermissions.write}, role => role)}
        FROM judged)
    RETURNING c.last_seq, c.last_at, c.member_count
)
