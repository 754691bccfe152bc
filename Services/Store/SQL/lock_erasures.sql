-- Locks the erasures of users. Every step adds to the counts in its user's row.
--
-- :user_slots smallint[]
-- :users      text[]
SELECT FROM unnest(:user_slots, :users) AS k(user_slot, user_id)
JOIN store.erasures e ON e.user_slot = k.user_slot AND e.user_id = k.user_id
ORDER BY e.user_id, e.user_slot
FOR NO KEY UPDATE OF e
