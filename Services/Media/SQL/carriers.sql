-- Messages that may carry a file, the latest first.
--
-- :slot   smallint
-- :id     uuid
-- :limit  bigint
-- :offset bigint
--
-- > conversation_id uuid
-- > message_id      uuid
-- > is_sent         boolean
SELECT c.conversation_id, c.message_id, c.is_sent
FROM media.carriers c
WHERE c.slot = :slot AND c.media_id = :id
ORDER BY c.attached_at DESC, c.conversation_id, c.message_id
LIMIT :limit OFFSET :offset
