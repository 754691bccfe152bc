-- Locks free slots and increments their epochs. A slot whose work is all noted keeps that state (`WorkNotes`): whoever owns
-- the slot, notes are removed only when their work is done.
--
-- :candidates smallint[]    in the order in which they are tried
-- :lock_class integer       of slots
-- :wanted     bigint        the most to be locked
--
-- > slot  smallint
-- > epoch bigint
WITH free AS MATERIALIZED (
    SELECT slot FROM unnest(:candidates) AS slot WHERE pg_try_advisory_lock(:lock_class, slot::integer) LIMIT :wanted
),
-- In order, because a former owner may still be writing that all is noted (all_is_noted).
locked AS MATERIALIZED (
    SELECT s.slot FROM free JOIN {schema}.slots s ON s.slot = free.slot ORDER BY s.slot FOR NO KEY UPDATE OF s
)
UPDATE {schema}.slots SET epoch = epoch + 1,
    noted_epoch = CASE WHEN noted_epoch = epoch THEN epoch + 1 ELSE noted_epoch END
FROM locked WHERE slots.slot = locked.slot
RETURNING slots.slot, slots.epoch
