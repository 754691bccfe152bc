-- How far the state of an export can move on: to the present, unless a message that is exported already has changed since,
-- or its tapbacks have.
--
-- :slot         smallint
-- :conversation uuid
-- :after        bigint      what is exported
-- :state        bigint
--
-- > state bigint
SELECT least(c.last_seq, :state + {ExportStatements.positionsPerStep}, (
        SELECT min(h.seq) - 1 FROM (
            SELECT h.seq, h.message_id FROM store.changes h
            WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.seq > :state
              AND h.seq <= :state + {ExportStatements.positionsPerStep} AND h.message_id IS NOT NULL
            OFFSET 0
        ) h
        WHERE (SELECT m.seq <= :after FROM store.messages m
            WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = h.message_id)
    )) AS state
FROM store.conversations c
WHERE c.slot = :slot AND c.id = :conversation
