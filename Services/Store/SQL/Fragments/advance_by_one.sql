-- CTE `advanced`: the conversation with the position of its next message, if this is `stored` by the CTE `judged`.
--
-- :slot
-- :conversation
advanced AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest(c.last_at, {ChangeTime.now})
    WHERE c.slot = :slot AND c.id = :conversation AND (SELECT outcome FROM judged) = {SendVerdict.stored}
    RETURNING c.last_seq, c.last_at, c.member_count
)
