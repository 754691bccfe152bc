-- The requests that a user is shown: the latest of each kind. What is older is shown when these are decided. So many strangers at
-- once can neither fill the list for those who come later, nor make it long.
--
-- :user_slot
-- :user
SELECT r.conversation_id, r.slot, r.at
FROM (VALUES (true), (false)) AS kind(is_direct)
CROSS JOIN LATERAL (
    SELECT w.conversation_id, w.slot, w.at FROM store.requests w
    WHERE w.user_slot = :user_slot AND w.user_id = :user AND w.is_waiting AND w.is_direct = kind.is_direct
    ORDER BY w.at DESC, w.conversation_id DESC LIMIT {ContractLimits.waitingRequests}
) r
