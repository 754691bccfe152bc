-- Removes the oldest rows of a private stream. A concurrent trim finds them gone.
--
-- :user_slot smallint
-- :user      text
-- :through   bigint      the last row that goes
-- :limit     bigint      the most rows that go
--
-- > count bigint
WITH gone AS (
    DELETE FROM store.user_changes h
    WHERE h.user_slot = :user_slot AND h.user_id = :user AND h.useq <= least(:through, :limit - 1 + (
        SELECT o.useq FROM store.user_changes o WHERE o.user_slot = :user_slot AND o.user_id = :user ORDER BY o.useq LIMIT 1))
    RETURNING 1
)
SELECT count(*) AS count FROM gone
