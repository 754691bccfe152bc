-- CTE: takes message `target` out of the index in the transaction that changes or erases its text. The index of the
-- conversation is locked before (lock_searches).
--
-- :slot
-- :conversation
unindexed AS (
    DELETE FROM store.search_texts x USING moved, target
    WHERE x.slot = :slot AND x.conversation_id = :conversation AND x.seq = target.seq
)
