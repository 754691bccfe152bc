-- The last number of a revocation in each slot.
--
-- :slots smallint[]
--
-- > slot   smallint
-- > number bigint
SELECT s.slot, coalesce((SELECT max(r.number) FROM store.revocations r WHERE r.user_slot = s.slot), 0) AS number
FROM unnest(:slots) AS s (slot)
