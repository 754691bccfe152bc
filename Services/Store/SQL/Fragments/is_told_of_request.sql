-- Whether a user is told of another request of this kind. If as many wait as are shown, it waits untold: many strangers at once
-- could otherwise drive everything else out of the user's stream. Groups do not take the room of direct conversations, of which
-- each stranger has one.
--
-- :user_slot
-- :user
-- :is_direct
(
    SELECT count(*) FROM (
        SELECT FROM store.requests w
        WHERE w.user_slot = :user_slot AND w.user_id = :user AND w.is_waiting AND w.is_direct = (:is_direct)
        LIMIT {ContractLimits.waitingRequests}) w
) < {ContractLimits.waitingRequests}
