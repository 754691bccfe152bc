-- Whether its sender deleted a message for everyone before it came.
--
-- :slot
-- :conversation
-- :id
-- :sender
(SELECT true FROM store.early_deletions e
 WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.message_id = :id
   AND e.user_id = :sender) IS NOT NULL
