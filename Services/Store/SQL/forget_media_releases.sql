-- Removes notes that `media` has acknowledged. A message loses its attachments once, so no later note has the same key.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :messages      uuid[]
DELETE FROM store.media_releases r USING unnest(:slots, :conversations, :messages) AS d(slot, conversation_id, message_id)
WHERE r.slot = d.slot AND r.conversation_id = d.conversation_id AND r.message_id = d.message_id
