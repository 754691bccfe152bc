-- Notes what a file turned out to be. Returns no row when it is gone, or somebody else has noted it.
--
-- :slot        smallint
-- :id          uuid
-- :is_ready    boolean
-- :version     bigint   or NULL
-- :type        text     or NULL
-- :sha256      text     or NULL: that of the upload stays
-- :size        bigint   or NULL: that of the upload stays
-- :reason      text     or NULL
-- :width       integer  or NULL
-- :height      integer  or NULL
-- :duration_ms bigint   or NULL
-- :thumbhash   text     or NULL
-- :waveform    text     or NULL
-- :thumbnails  text     or NULL
-- :unsent_seconds bigint  for which it stays if no message carries it
--
-- > id uuid
UPDATE media.objects o
SET state = CASE WHEN :is_ready THEN {ObjectState.ready} ELSE {ObjectState.refused} END,
    version = :version, type = :type, sha256 = coalesce(:sha256, o.sha256),
    received = coalesce(:size, o.received), size = coalesce(:size, o.size), reason = :reason,
    width = :width, height = :height, duration_ms = :duration_ms, thumbhash = :thumbhash, waveform = :waveform,
    thumbnails = :thumbnails,
    attempts = 0, due_at = {now} + :unsent_seconds * interval '1 second'
WHERE o.slot = :slot AND o.id = :id AND o.state = {ObjectState.processing}
RETURNING o.id
