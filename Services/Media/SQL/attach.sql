-- Notes that messages of a conversation are to carry ready files of their sender, and keeps these for a day at least.
--
-- :slot         smallint
-- :uploader     text
-- :conversation uuid
-- :messages     uuid[]
-- :media        uuid[]   a file for each
WITH carried AS (
    INSERT INTO media.carriers (slot, media_id, conversation_id, message_id, attached_at)
    SELECT DISTINCT o.slot, o.id, :conversation, i.message_id, {now}
    FROM unnest(:messages, :media) AS i (message_id, media_id)
    JOIN media.objects o ON o.slot = :slot AND o.id = i.media_id AND o.uploader = :uploader
        AND o.state = {ObjectState.ready}
    ON CONFLICT (media_id, conversation_id, message_id, slot) DO UPDATE SET attached_at = excluded.attached_at
    RETURNING media_id
)
UPDATE media.objects o SET due_at = greatest(o.due_at, {now} + {unsent_message})
FROM (SELECT DISTINCT c.media_id FROM carried c) AS k
WHERE o.slot = :slot AND o.id = k.media_id
