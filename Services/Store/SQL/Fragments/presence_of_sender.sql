-- Whether a sender is in the conversation, by the latest stay; NULL: never was.
--
-- :slot
-- :conversation
-- :sender
(SELECT s.left_seq IS NULL FROM store.memberships s
 WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :sender
 ORDER BY s.joined_seq DESC LIMIT 1)
