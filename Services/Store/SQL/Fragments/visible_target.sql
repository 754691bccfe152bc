-- CTE `target`: the message that a write names, where its actor may see it and has not hidden it.
--
-- :slot
-- :conversation
-- :actor
-- :subject
target AS MATERIALIZED (
    SELECT m.* FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject AND EXISTS (
        SELECT FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
          AND m.seq BETWEEN greatest(s.joined_seq, s.cleared_seq + 1) AND coalesce(s.left_seq, m.seq))
    AND NOT EXISTS (
        SELECT FROM store.hidden h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = :actor AND h.seq = m.seq)
)
