-- Whom a user has blocked, by name.
--
-- :user      text
-- :user_slot smallint
--
-- > blocked_id text
-- > at         timestamptz
SELECT b.blocked_id, b.at FROM store.blocks b
WHERE b.user_slot = :user_slot AND b.user_id = :user
ORDER BY b.blocked_id
