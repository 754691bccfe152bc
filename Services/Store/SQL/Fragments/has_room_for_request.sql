-- Whether another request of this kind may wait for a user. One that may not is as if they had declined it, and is not told
-- of. Groups do not take the room of direct conversations, of which each stranger has one.
--
-- :user_slot
-- :user
-- :is_direct
-- :requests_limit
CASE WHEN :requests_limit IS NULL THEN false ELSE (
    SELECT count(*) FROM store.requests w
    WHERE w.user_slot = :user_slot AND w.user_id = :user AND w.is_waiting AND w.is_direct = (:is_direct)) < :requests_limit END
