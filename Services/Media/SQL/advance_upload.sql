-- Notes how much of an upload is certain to be on the disk, for the request that has claimed it. With all of it, the file
-- is to be looked into. Returns no row when the upload is gone or another request's.
--
-- :slot     smallint
-- :id       uuid
-- :claim    bigint
-- :received bigint
-- :sha256   text      or NULL: not complete
--
-- > state smallint
UPDATE media.objects o
SET received = :received, sha256 = coalesce(:sha256, o.sha256),
    state = CASE WHEN :received = o.size THEN {ObjectState.processing} ELSE o.state END,
    due_at = CASE WHEN :received = o.size THEN {now} + {inspection_patience} ELSE o.due_at END
WHERE o.slot = :slot AND o.id = :id AND o.claim = :claim AND o.state = {ObjectState.uploading}
  AND o.received <= :received
RETURNING o.state
