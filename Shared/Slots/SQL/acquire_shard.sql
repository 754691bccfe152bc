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
)
UPDATE {schema}.slots s SET epoch = s.epoch + 1,
    noted_epoch = CASE WHEN s.noted_epoch = s.epoch THEN s.epoch + 1 ELSE s.noted_epoch END
FROM free WHERE s.slot = ANY (:slots)
RETURNING s.slot, s.epoch
