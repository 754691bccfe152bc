-- Locks the private streams that exist.
--
-- :user_slots smallint[]
-- :users      text[]
SELECT FROM unnest(:user_slots, :users) AS k(user_slot, user_id)
JOIN store.user_streams s ON s.user_slot = k.user_slot AND s.user_id = k.user_id
ORDER BY s.user_id, s.user_slot
FOR NO KEY UPDATE OF s
