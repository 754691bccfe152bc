-- Locks what a user has uploaded today, and forgets former days, before an upload is created: two at a time would not see
-- each other.
--
-- :slot smallint
-- :user text
WITH forgotten AS (
    DELETE FROM media.usage u
    WHERE u.slot = :slot AND u.user_id = :user AND u.day < (now() AT TIME ZONE 'UTC')::date - 1
)
INSERT INTO media.usage AS u (slot, user_id, day, bytes)
VALUES (:slot, :user, (now() AT TIME ZONE 'UTC')::date, 0)
ON CONFLICT (user_id, day, slot) DO UPDATE SET bytes = u.bytes
