-- Locks the conversations that exist.
--
-- :slots         smallint[]
-- :conversations uuid[]
SELECT FROM unnest(:slots, :conversations) AS k(slot, id)
JOIN store.conversations c ON c.slot = k.slot AND c.id = k.id
ORDER BY c.id, c.slot
FOR NO KEY UPDATE OF c
