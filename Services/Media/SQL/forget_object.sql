-- Removes the row of a hidden file, whose bytes are gone.
--
-- :slot smallint
-- :id   uuid
DELETE FROM media.objects o WHERE o.slot = :slot AND o.id = :id AND o.state = {ObjectState.deleted}
