-- Conversations in some slots in which messages are due to expire, a few of each slot.
--
-- :slots smallint[]
--
-- > conversation_id uuid
SELECT l.conversation_id FROM unnest(:slots) AS s (slot)
CROSS JOIN LATERAL (
    SELECT l.conversation_id, least(l.due_at, l.look_at) AS next_at FROM store.lifetimes l
    WHERE l.slot = s.slot AND least(l.due_at, l.look_at) <= (SELECT {ChangeTime.now})
    ORDER BY least(l.due_at, l.look_at) LIMIT {Lifetimes.conversationsPerLook}
) l
ORDER BY l.next_at LIMIT {Lifetimes.conversationsPerLook}
