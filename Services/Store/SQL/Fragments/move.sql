-- CTE `moved`: takes the positions of a write that is due, one row; of any other, none. The conversation is locked before
-- (lock_conversations), so the UPDATE waits for nobody. A write that takes no position does not touch the conversation's
-- time; what it tells privately has the present one.
--
-- :slot
-- :conversation
-- :positions    how many
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + :positions,
        last_at = CASE WHEN :positions = 0 THEN c.last_at ELSE greatest({ChangeTime.now}, c.last_at) END
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
    RETURNING c.last_seq, c.last_at, CASE WHEN :positions = 0 THEN {ChangeTime.now} ELSE c.last_at END AS announced_at
)
