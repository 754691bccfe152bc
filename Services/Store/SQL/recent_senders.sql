-- The latest messages of a conversation with their senders, and the position of its status, which is read before anything
-- that is counted. No row: nothing ever moved. A row without a message: there is none.
--
-- :slot         smallint
-- :conversation uuid
-- :limit        bigint
--
-- > status_version bigint
-- > last_at        timestamptz
-- > seq            bigint         or NULL
-- > sender_id      text
SELECT p.status_version, p.last_at, m.seq, m.sender_id
FROM receipt.published_positions p
LEFT JOIN LATERAL (
    SELECT m.seq, m.sender_id FROM (
        SELECT * FROM store.messages m WHERE m.slot = :slot AND m.conversation_id = :conversation
        ORDER BY m.seq DESC LIMIT {SenderCountsStatement.latestRows}
    ) m
    WHERE m.kind <> {MessageKind.system} AND m.deleted_at IS NULL
    ORDER BY m.seq DESC LIMIT :limit
) m ON true
WHERE p.slot = :slot AND p.conversation_id = :conversation
ORDER BY m.seq
