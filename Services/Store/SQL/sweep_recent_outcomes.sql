-- Forgets outcomes of writes without a key that are older than the bus can repeat them, the oldest first and a few at a
-- time.
--
-- :slot smallint
--
-- > forgotten bigint   how many
WITH gone AS (
    DELETE FROM store.recent_outcomes r WHERE r.slot = :slot AND r.request IN (
        SELECT o.request FROM store.recent_outcomes o
        WHERE o.slot = :slot AND o.at < (SELECT {ChangeTime.now}) - {RecentOutcomes.keptFor}
        ORDER BY o.at LIMIT {RecentOutcomes.rowsPerStep})
    RETURNING 1
)
SELECT count(*) AS forgotten FROM gone
