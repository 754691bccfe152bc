-- CTE `present`: the actor's tapback on the message before the write.
--
-- :slot
-- :conversation
-- :actor
-- :subject
present AS MATERIALIZED (
    SELECT r.kind FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject AND r.user_id = :actor
)
