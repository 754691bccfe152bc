-- Locks the position of a conversation. A signal of an erased user that was in time holds it, so its receipt is found
-- afterwards.
--
-- :slot         smallint
-- :conversation uuid
SELECT FROM receipt.positions p WHERE p.slot = :slot AND p.conversation_id = :conversation FOR NO KEY UPDATE
