-- Counts a try of looking into a file, before it begins: one that ends with its process stays counted. Returns no row when
-- there is nothing to look into any more.
--
-- :slot smallint
-- :id   uuid
--
-- > attempts smallint
UPDATE media.objects o SET attempts = least(o.attempts + 1, 1000), due_at = {now} + {inspection_patience}
WHERE o.slot = :slot AND o.id = :id AND o.state = {ObjectState.processing}
RETURNING o.attempts
