-- The bytes that a user's uploads of today have announced.
--
-- :slot smallint
-- :user text
--
-- > used bigint
SELECT coalesce(sum(u.bytes), 0)::bigint AS used FROM media.usage u
WHERE u.slot = :slot AND u.user_id = :user AND u.day = (now() AT TIME ZONE 'UTC')::date
