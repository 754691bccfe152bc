-- How many had chosen an option of the poll `k` in message `m` at a position. Nobody counts them for a reader who sees its end.
--
-- :option        from 1
-- :position
CASE WHEN m.changed_seq <= :position THEN k.counts[:option] ELSE (
    SELECT count(*) FROM store.votes v
    WHERE v.slot = m.slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id
      AND v.seq <= :position AND (v.options >> (:option - 1)::integer) & 1 = 1) END
