-- Has a file looked into or removed later, for reasons that are not its own: the try is not counted.
--
-- :slot smallint
-- :id   uuid
UPDATE media.objects o SET attempts = greatest(o.attempts - 1, 0), due_at = {now} + {retry_delay}
WHERE o.slot = :slot AND o.id = :id AND o.state IN ({ObjectState.processing}, {ObjectState.deleted})
