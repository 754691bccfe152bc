-- One file, unless it is deleted or its upload has ended.
--
-- :slot smallint
-- :id   uuid
--
-- > {object_columns}
SELECT {object_columns} FROM media.objects o
WHERE o.slot = :slot AND o.id = :id AND o.state <> {ObjectState.deleted}
  AND (o.state <> {ObjectState.uploading} OR o.expires_at > {now})
