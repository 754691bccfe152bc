-- CTE `poll`: of a message that is a poll, what it takes, before the write.
--
-- :slot
-- :conversation
-- :subject
poll AS MATERIALIZED (
    SELECT cardinality(p.options) AS count, p.is_multiple, p.closed_seq FROM store.polls p
    WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = :subject
)
