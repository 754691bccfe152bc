-- Hides an upload whose time has passed.
--
-- :slot smallint
-- :id   uuid
UPDATE media.objects o SET state = {ObjectState.deleted}, due_at = {now}, claim = 0
WHERE o.slot = :slot AND o.id = :id AND o.state = {ObjectState.uploading} AND o.expires_at <= {now}
