-- Whether a message has now the text that it had at a position.
--
-- :slot
-- :conversation
-- :seq
-- :position
(:position = {Int64.max} OR (
    SELECT true FROM store.messages e JOIN store.revisions v
        ON v.slot = e.slot AND v.conversation_id = e.conversation_id AND v.message_id = e.id
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.seq = :seq AND v.replaced_seq > :position
    LIMIT 1) IS NULL)
