-- Creates missing private streams. Inserting a stream locks it; an existing one is locked by the next statement,
-- lock_streams. A batch that waits here cannot deadlock: a batch that inserted the stream holds locks of earlier streams
-- only. Erased users get no stream; the user locks taken before (lock_users) make their erasure visible.
--
-- :user_slots smallint[]
-- :users      text[]
INSERT INTO store.user_streams (user_slot, user_id, last_useq, conversation_count)
SELECT k.user_slot, k.user_id, 0, 0 FROM unnest(:user_slots, :users) AS k(user_slot, user_id)
WHERE (SELECT true FROM store.erasures e WHERE e.user_slot = k.user_slot AND e.user_id = k.user_id) IS NULL
ORDER BY k.user_id COLLATE "C", k.user_slot
ON CONFLICT DO NOTHING
