-- The conversations in which a user was once, listed or not, in the order of their ids.
--
-- :user_slot smallint
-- :user      text
-- :after     uuid
-- :limit     bigint
--
-- > conversation_id uuid
SELECT i.conversation_id FROM store.inbox i
WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id > :after
ORDER BY i.conversation_id LIMIT :limit
