-- CTE `target`: the message that a write names, where its actor may see it and has not hidden it. Of EXISTS the planner makes
-- joins, and then reads the whole conversation for the message where conversations are short on average, and all that the
-- actor has hidden. Each column costs each node that carries it.
--
-- :slot
-- :conversation
-- :actor
-- :subject
target AS MATERIALIZED (
    SELECT m.seq, m.sender_id, m.kind, m.body, m.created_at, m.edited_at, m.deleted_at, m.forwarded_by
    FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject AND {is_in_stay_of_actor}
      AND {is_not_hidden(reader => :actor, seq => m.seq)}
)
