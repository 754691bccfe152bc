-- The role of a sender in the conversation, by the latest stay; 0: they have left; NULL: never was in it.
--
-- :slot
-- :conversation
-- :sender
(SELECT CASE WHEN s.left_seq IS NULL THEN s.role ELSE 0 END FROM store.memberships s
 WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :sender
 ORDER BY s.joined_seq DESC LIMIT 1)
