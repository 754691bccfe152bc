-- The texts at the next positions of conversations: of messages created there, and of earlier ones edited or deleted there.
-- Sealed messages have none.
-- In each it stops at the text that reaches a number of bytes.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :positions     bigint        of each conversation
-- :bytes         bigint        of each conversation
--
-- > conversation_id uuid
-- > since           bigint    the position up to which it is indexed
-- > through         bigint    the position up to which the conversation is indexed once these texts are
-- > last_seq        bigint    of the conversation
-- > seq             bigint    NULL: a row without a text, for the position
-- > body            text      NULL: deleted
-- > attachments     text      JSON array, or NULL: their names are indexed with the text
SELECT p.conversation_id, p.indexed_seq AS since, coalesce(m.next_position - 1, p.through) AS through, p.last_seq, m.seq,
    m.body, m.attachments
FROM (
    SELECT c.slot, c.id AS conversation_id, n.indexed_seq, c.last_seq,
        least(c.last_seq, n.indexed_seq + :positions) AS through
    FROM unnest(:slots, :conversations) AS i (slot, conversation_id)
    JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
    LEFT JOIN store.search_positions p ON p.slot = i.slot AND p.conversation_id = i.conversation_id
    CROSS JOIN LATERAL (SELECT coalesce(p.indexed_seq, 0) AS indexed_seq) n
    WHERE n.indexed_seq < c.last_seq
) p
LEFT JOIN LATERAL (
    SELECT * FROM (
        SELECT m.*, min(m.position) FILTER (WHERE m.before >= :bytes) OVER () AS next_position
        FROM (
            SELECT m.*, sum(m.bytes) OVER (ORDER BY m.position) - m.bytes AS before
            FROM (
                SELECT m.seq AS position, m.seq, m.body, m.attachments,
                    octet_length(m.body) + coalesce(octet_length(m.attachments), 0) AS bytes
                FROM store.messages m
                WHERE m.slot = p.slot AND m.conversation_id = p.conversation_id
                  AND m.seq > p.indexed_seq AND m.seq <= p.through AND m.body IS NOT NULL AND m.kind <> {MessageKind.sealed}
                UNION ALL
                SELECT h.position, m.seq, m.body, m.attachments,
                    coalesce(octet_length(m.body), 0) + coalesce(octet_length(m.attachments), 0) AS bytes
                FROM (
                    SELECT h.message_id, min(h.seq) AS position FROM store.changes h
                    WHERE h.slot = p.slot AND h.conversation_id = p.conversation_id
                      AND h.seq > p.indexed_seq AND h.seq <= p.through
                      AND h.kind IN ({ChangeKind.messageEdited}, {ChangeKind.messageDeleted})
                    GROUP BY h.message_id
                ) h
                JOIN store.messages m
                    ON m.slot = p.slot AND m.conversation_id = p.conversation_id AND m.id = h.message_id
                WHERE m.seq <= p.indexed_seq AND m.kind <> {MessageKind.sealed}
            ) m
        ) m
    ) m
    WHERE m.before < :bytes
) m ON true
