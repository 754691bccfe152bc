-- How many had chosen anything in the poll `k` in message `m` at a position.
--
-- :position
CASE WHEN m.changed_seq <= :position THEN k.voters ELSE (
    SELECT count(*) FROM store.votes v
    WHERE v.slot = m.slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id AND v.seq <= :position) END
