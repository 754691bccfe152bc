-- The slots in which all work is done or noted.
--
-- :slots  smallint[]
-- :epochs bigint[]      under which they are owned
--
-- > slot smallint
SELECT s.slot FROM unnest(:slots, :epochs) AS k (slot, epoch)
JOIN {schema}.slots s ON s.slot = k.slot
WHERE s.noted_epoch >= k.epoch
