-- Records that all work of slots is done or noted.
--
-- :slots  smallint[]
-- :epochs bigint[]      under which they are owned
UPDATE {schema}.slots s SET noted_epoch = k.epoch
FROM unnest(:slots, :epochs) AS k (slot, epoch)
WHERE s.slot = k.slot AND s.noted_epoch < k.epoch
