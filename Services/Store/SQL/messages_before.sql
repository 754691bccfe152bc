-- Messages of a conversation before a position, the nearest first, whoever reads.
--
-- :slot         smallint
-- :conversation uuid
-- :pivot        bigint
-- :limit        bigint
--
-- > {plain_message}
SELECT {plain_message} FROM store.messages m
WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq < :pivot
ORDER BY m.seq DESC LIMIT :limit
