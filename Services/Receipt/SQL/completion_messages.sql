-- The messages after the last one that the history of completions has passed.
--
-- :slot         smallint
-- :conversation uuid
-- :kind         smallint    RunKind: delivered or read
-- :limit        bigint
--
-- > seq       bigint
-- > sender_id text
SELECT m.seq, m.sender_id FROM store.published_messages m
WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.kind <> {MessageKind.system} AND m.seq > coalesce((
    SELECT c.to_seq FROM receipt.completions c
    WHERE c.slot = :slot AND c.conversation_id = :conversation AND c.kind = :kind
    ORDER BY c.to_seq DESC LIMIT 1
), 0)
ORDER BY m.seq LIMIT :limit
