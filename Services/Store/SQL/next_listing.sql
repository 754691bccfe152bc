-- A conversation from which a user is still to be erased.
--
-- :user_slot smallint
-- :user      text
--
-- > conversation_id uuid
(SELECT i.conversation_id FROM store.inbox i WHERE i.user_slot = :user_slot AND i.user_id = :user
 ORDER BY i.conversation_id LIMIT 1)
UNION ALL
(SELECT l.conversation_id FROM store.shadow_listings l WHERE l.user_slot = :user_slot AND l.user_id = :user
 ORDER BY l.conversation_id LIMIT 1)
LIMIT 1
