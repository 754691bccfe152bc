-- Takes an upload over, to write from an offset on: whoever wrote it before can no longer acknowledge anything.
--
-- :slot   smallint
-- :id     uuid
-- :user   text
-- :offset bigint
-- :claim  bigint
--
-- > state      smallint    before
-- > size       bigint
-- > received   bigint
-- > expires_at timestamptz
-- > is_claimed boolean
WITH claimed AS (
    UPDATE media.objects o SET claim = :claim
    WHERE o.slot = :slot AND o.id = :id AND o.uploader = :user AND o.state = {ObjectState.uploading}
      AND o.received = :offset AND o.expires_at > {now}
    RETURNING o.id
)
SELECT o.state, o.size, o.received, o.expires_at, EXISTS (SELECT FROM claimed) AS is_claimed
FROM media.objects o
WHERE o.slot = :slot AND o.id = :id AND o.uploader = :user AND o.state <> {ObjectState.deleted}
  AND (o.state <> {ObjectState.uploading} OR o.expires_at > {now})
