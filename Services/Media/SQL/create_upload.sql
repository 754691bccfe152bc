-- Creates an upload, if its user has room for it. `lock_usage` comes before it in the same transaction.
--
-- :slot             smallint
-- :user             text
-- :id               uuid
-- :name             text
-- :metadata         text
-- :size             bigint
-- :charge           bigint   what it counts for today (DailyUse)
-- :claim            bigint
-- :unfinished_limit bigint
-- :daily_limit      bigint
-- :lifetime_seconds bigint
--
-- > unfinished      bigint      uploads of the user that are not complete, without this one
-- > used            bigint      bytes of today, without this one
-- > seconds_of_day  bigint      until the next day begins
-- > expires_at      timestamptz or NULL: nothing was created
WITH facts AS (
    SELECT (SELECT count(*) FROM media.objects o
            WHERE o.slot = :slot AND o.uploader = :user AND o.state = {ObjectState.uploading}) AS unfinished,
           (SELECT u.bytes FROM media.usage u
            WHERE u.slot = :slot AND u.user_id = :user AND u.day = (now() AT TIME ZONE 'UTC')::date) AS used
), charged AS (
    UPDATE media.usage u SET bytes = u.bytes + :charge
    FROM facts f
    WHERE u.slot = :slot AND u.user_id = :user AND u.day = (now() AT TIME ZONE 'UTC')::date
      AND f.unfinished < :unfinished_limit AND f.used + :charge <= :daily_limit
    RETURNING u.user_id
), created AS (
    INSERT INTO media.objects (slot, id, uploader, state, name, metadata, size, claim, created_at, expires_at, due_at)
    SELECT :slot, :id, :user, {ObjectState.uploading}, :name, :metadata, :size, :claim, {now},
           {now} + :lifetime_seconds * interval '1 second', {now} + :lifetime_seconds * interval '1 second'
    FROM charged
    RETURNING expires_at
)
SELECT f.unfinished, f.used,
       86400 - (extract(epoch FROM now())::bigint % 86400) AS seconds_of_day,
       (SELECT c.expires_at FROM created c) AS expires_at
FROM facts f
