-- Hides a file of its uploader that no message may carry.
--
-- :slot smallint
-- :id   uuid
-- :user text
--
-- > is_hidden boolean  false: a message may carry it
WITH hidden AS (
    UPDATE media.objects o SET state = {ObjectState.deleted}, due_at = {now}, claim = 0
    WHERE o.slot = :slot AND o.id = :id AND o.uploader = :user AND o.state <> {ObjectState.deleted}
      AND NOT EXISTS (SELECT FROM media.carriers c WHERE c.slot = :slot AND c.media_id = :id)
    RETURNING o.id
)
SELECT EXISTS (SELECT FROM hidden) AS is_hidden
FROM media.objects o
WHERE o.slot = :slot AND o.id = :id AND o.uploader = :user AND o.state <> {ObjectState.deleted}
