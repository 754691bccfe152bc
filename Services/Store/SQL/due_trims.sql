-- A page of the conversations in some slots, and which of them begin with a message that is kept no longer: one look-up for each.
-- Without a time for all conversations only those are walked through that have one of their own.
--
-- :slots smallint[]
-- :after uuid       the last conversation of the page before
-- :days  integer    how long messages stay, or NULL
--
-- > conversation_id uuid
-- > is_due          boolean
SELECT p.conversation_id, coalesce((
        SELECT m.created_at FROM store.messages m
        WHERE m.slot = p.slot AND m.conversation_id = p.conversation_id AND m.seq >= coalesce(c.kept_from, 1)
        ORDER BY m.seq LIMIT 1
    ) <= (SELECT {ChangeTime.now}) - least(:days, r.days) * interval '1 day', false) AS is_due
FROM (
    (SELECT c.slot, c.id AS conversation_id FROM store.conversations c
     WHERE :days IS NOT NULL AND c.slot = ANY (:slots) AND c.id > :after
     ORDER BY c.id LIMIT {Retention.conversationsPerLook})
    UNION ALL
    (SELECT r.slot, r.conversation_id FROM store.retentions r
     WHERE :days IS NULL AND r.slot = ANY (:slots) AND r.conversation_id > :after
     ORDER BY r.conversation_id LIMIT {Retention.conversationsPerLook})
) p
CROSS JOIN LATERAL (
    SELECT c.kept_from FROM store.conversations c WHERE c.slot = p.slot AND c.id = p.conversation_id OFFSET 0
) c
LEFT JOIN LATERAL (
    SELECT r.days FROM store.retentions r WHERE r.slot = p.slot AND r.conversation_id = p.conversation_id OFFSET 0
) r ON true
ORDER BY p.conversation_id
