-- Removes notes.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :numbers       bigint[]
DELETE FROM {notes} n
USING unnest(:slots, :conversations, :numbers) AS k (slot, id, number)
WHERE n.slot = k.slot AND n.conversation_id = k.id AND n.noted_by = k.number
