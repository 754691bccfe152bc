-- Gives a conversation whose import is open its first position. One that is being dropped gets none: what comes behind its
-- drop would leave it. If a drop has begun since, it waits for this one when it locks, and takes it away.
--
-- :slot         smallint
-- :conversation uuid
INSERT INTO receipt.positions (slot, conversation_id)
SELECT i.slot, i.conversation_id FROM store.published_imports i
WHERE i.slot = :slot AND i.conversation_id = :conversation AND NOT i.is_dropped
ON CONFLICT DO NOTHING
