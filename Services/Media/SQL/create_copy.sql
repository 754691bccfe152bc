-- Creates a user's copy of a file, ready and not to be inspected again, unless it is there or its bytes are too many for today. `lock_usage`
-- comes before it in the same transaction.
--
-- :slot        smallint
-- :user        text
-- :id          uuid
-- :facts       text     as `copyable` has them
-- :charge      bigint   what it counts for today (DailyUse)
-- :daily_limit bigint
WITH source AS (
    SELECT s.* FROM jsonb_to_record(:facts::jsonb) AS s (
        name text, size bigint, version bigint, type text, sha256 text, width integer, height integer, duration_ms bigint, thumbhash text,
        waveform text, thumbnails text)
    WHERE NOT EXISTS (SELECT FROM media.objects o WHERE o.slot = :slot AND o.id = :id)
), charged AS (
    UPDATE media.usage u SET bytes = u.bytes + :charge
    FROM source s
    WHERE u.slot = :slot AND u.user_id = :user AND u.day = (now() AT TIME ZONE 'UTC')::date AND u.bytes + :charge <= :daily_limit
    RETURNING u.user_id
)
INSERT INTO media.objects (slot, id, uploader, state, name, metadata, size, received, created_at, expires_at, due_at, version, type, sha256,
    width, height, duration_ms, thumbhash, waveform, thumbnails)
SELECT :slot, :id, :user, {ObjectState.ready}, s.name, '', s.size, s.size, {now}, {now}, {now} + {unsent_message}, s.version, s.type, s.sha256,
    s.width, s.height, s.duration_ms, s.thumbhash, s.waveform, s.thumbnails
FROM source s, charged
