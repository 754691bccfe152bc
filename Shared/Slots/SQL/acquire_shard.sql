-- Locks a shard, if it is free, and increments the epochs of its slots, as acquire_slots does. One lock and one statement for
-- all of them: their epochs never differ in who owns them.
--
-- :lock_class integer       of slots
-- :key        smallint      the lowest slot of the shard, which has the lock
-- :slots      smallint[]    all of them
--
-- > slot  smallint
-- > epoch bigint
WITH free AS MATERIALIZED (
    SELECT FROM (SELECT pg_try_advisory_lock(:lock_class, :key::integer) AS is_free) l WHERE l.is_free
),
-- In order, as acquire_slots does. This lock waits for the batches of a former owner, which share the row of the key
-- (`ShardGuard`).
locked AS MATERIALIZED (
    SELECT s.slot FROM free CROSS JOIN {schema}.slots s WHERE s.slot = ANY (:slots) ORDER BY s.slot FOR UPDATE OF s
)
UPDATE {schema}.slots s SET epoch = s.epoch + 1,
    noted_epoch = CASE WHEN s.noted_epoch = s.epoch THEN s.epoch + 1 ELSE s.noted_epoch END
FROM locked WHERE s.slot = locked.slot
RETURNING s.slot, s.epoch
