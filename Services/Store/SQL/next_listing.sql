-- A conversation from which a user is still to be erased.
--
-- :user_slot smallint
-- :user      text
--
-- > conversation_id uuid
SELECT i.conversation_id FROM store.inbox i WHERE i.user_slot = :user_slot AND i.user_id = :user
ORDER BY i.conversation_id LIMIT 1
