-- The CTE `target`: the message that a record of an import is about.
--
-- :slot
-- :conversation
-- :message
target AS MATERIALIZED (
    SELECT m.seq, m.sender_id, m.deleted_at FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message AND m.kind <> {MessageKind.system}
)
