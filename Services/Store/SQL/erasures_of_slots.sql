-- The last number of an erasure in each slot, and the users whose erasure is in progress.
--
-- :slots smallint[]
--
-- > slot    smallint
-- > number  bigint
-- > user_id text        or NULL
SELECT s.slot, coalesce((SELECT max(e.number) FROM store.erasures e WHERE e.user_slot = s.slot), 0) AS number, e.user_id
FROM unnest(:slots) AS s (slot)
LEFT JOIN store.erasures e ON e.user_slot = s.slot AND e.erased_at IS NULL
