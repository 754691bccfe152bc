-- Records that all work of slots is done or noted. The rows are locked in order, because another process may be taking these
-- slots over (acquire_slots).
--
-- :slots  smallint[]
-- :epochs bigint[]      under which they are owned
WITH locked AS MATERIALIZED (
    SELECT s.slot, k.epoch FROM unnest(:slots, :epochs) AS k (slot, epoch)
    JOIN {schema}.slots s ON s.slot = k.slot AND s.noted_epoch < k.epoch
    ORDER BY s.slot FOR NO KEY UPDATE OF s
)
UPDATE {schema}.slots s SET noted_epoch = l.epoch
FROM locked l
WHERE s.slot = l.slot AND s.noted_epoch < l.epoch
