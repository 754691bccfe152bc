-- CTE: the message of history that shows a change of members or title, at the position of the change.
--
-- :slot
-- :conversation
-- :actor
shown AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, sent_at, created_at)
    SELECT :slot, :conversation, moved.last_seq, gen_random_uuid(), moved.last_seq, :actor, {MessageKind.system},
        moved.last_at, moved.last_at
    FROM moved
)
