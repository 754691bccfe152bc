-- The last number of a revocation in each slot.
--
-- :slots smallint[]
--
-- > slot   smallint
-- > number bigint
SELECT s.slot, {last_revocation(user_slot => s.slot)} AS number
FROM unnest(:slots) AS s (slot)
