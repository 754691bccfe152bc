-- Gives conversations their first position. If two insert at once, the second waits for the first and finds its row when
-- it locks.
--
-- :slots         smallint[]
-- :conversations uuid[]
INSERT INTO receipt.positions (slot, conversation_id)
SELECT i.slot, i.conversation_id FROM unnest(:slots, :conversations) AS i (slot, conversation_id)
WHERE (SELECT true FROM receipt.positions p WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id) IS NULL
  AND (SELECT true FROM store.published_conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id)
ORDER BY i.conversation_id, i.slot
ON CONFLICT DO NOTHING
