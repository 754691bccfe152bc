-- Notes that a message carries files no more, and hides those that no other message may carry. `lock_objects` comes
-- before it in the same transaction.
--
-- :slot         smallint
-- :uploader     text
-- :conversation uuid
-- :message      uuid
-- :media        uuid[]
WITH released AS (
    DELETE FROM media.carriers c
    WHERE c.slot = :slot AND c.media_id = ANY (:media) AND c.conversation_id = :conversation
      AND c.message_id = :message
)
UPDATE media.objects o SET state = {ObjectState.deleted}, due_at = {now}, claim = 0
WHERE o.slot = :slot AND o.id = ANY (:media) AND o.uploader = :uploader
  AND o.state <> {ObjectState.deleted}
  AND NOT EXISTS (SELECT FROM media.carriers c
                  WHERE c.slot = :slot AND c.media_id = o.id
                    AND (c.conversation_id, c.message_id) <> (:conversation, :message))
