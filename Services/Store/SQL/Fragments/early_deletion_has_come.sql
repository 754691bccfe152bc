-- Whether the message of an early deletion `w` has come.
--
-- :slot
-- :conversation
(SELECT true FROM store.messages m
 WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = w.message_id) IS NOT NULL
