-- Says that a file is still being looked into, so that nobody else begins.
--
-- :slot smallint
-- :id   uuid
UPDATE media.objects o SET due_at = {now} + {inspection_patience}
WHERE o.slot = :slot AND o.id = :id AND o.state = {ObjectState.processing}
