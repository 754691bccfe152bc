-- Notes that a message was found to carry a file, or was found not to.
--
-- :slot         smallint
-- :id           uuid
-- :conversation uuid
-- :message      uuid
-- :is_sent      boolean
WITH sent AS (
    UPDATE media.carriers c SET is_sent = true
    WHERE :is_sent AND c.slot = :slot AND c.media_id = :id AND c.conversation_id = :conversation
      AND c.message_id = :message
)
DELETE FROM media.carriers c
WHERE NOT :is_sent AND c.slot = :slot AND c.media_id = :id AND c.conversation_id = :conversation
  AND c.message_id = :message AND c.attached_at <= {now} - {unsent_message}
