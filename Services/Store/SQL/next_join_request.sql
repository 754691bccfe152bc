-- A conversation that a user has asked to join.
--
-- :user text
--
-- > conversation_id uuid
SELECT r.conversation_id FROM store.join_requests r WHERE r.user_id = :user LIMIT 1
