-- Locks private streams, those of all who have a stay in imports that end, too: in one order with those of `lock_streams`,
-- which is not executed then. The conversations are locked before (lock_conversations), so their stays stand.
--
-- :user_slots    smallint[]
-- :users         text[]
-- :slots         smallint[]
-- :conversations uuid[]
SELECT FROM (
    SELECT k.user_slot, k.user_id FROM unnest(:user_slots, :users) AS k(user_slot, user_id)
    UNION
    SELECT i.user_slot, i.user_id
    FROM unnest(:slots, :conversations) AS k(slot, id)
    JOIN store.import_stays i ON i.slot = k.slot AND i.conversation_id = k.id
) k
JOIN store.user_streams s ON s.user_slot = k.user_slot AND s.user_id = k.user_id
ORDER BY s.user_id, s.user_slot
FOR NO KEY UPDATE OF s
