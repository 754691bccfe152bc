-- CTE `pinned`: a row where the message is pinned before the write.
--
-- :slot
-- :conversation
-- :subject
pinned AS MATERIALIZED (
    SELECT m.pinned_seq FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject AND m.pinned_seq IS NOT NULL
)
