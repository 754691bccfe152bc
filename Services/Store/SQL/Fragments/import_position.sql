-- The CTE `moved`: the position of a record that is stored.
--
-- :slot
-- :conversation
-- :at
moved AS (
    UPDATE store.conversations c SET last_seq = c.last_seq + 1, last_at = :at
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.outcome = {ImportVerdict.stored}
    RETURNING c.last_seq
)
