-- The devices of a user, the one seen last first.
--
-- :user      text
-- :user_slot smallint
--
-- > device   text
-- > first_at timestamptz
-- > last_at  timestamptz
SELECT d.device, d.first_at, d.last_at FROM store.devices d
WHERE d.user_slot = :user_slot AND d.user_id = :user
ORDER BY d.last_at DESC, d.device
