-- Locks one conversation, if it exists: what most batches lock. Half of the work of lock_conversations is its arrays.
--
-- :slot         smallint
-- :conversation uuid
SELECT FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation FOR NO KEY UPDATE
