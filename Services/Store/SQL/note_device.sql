-- Notes that a user has begun a session on a device. Beyond as many as are listed, those go that were not seen for longest.
--
-- Locks: the user's slot (lock_users), so they do not become erased meanwhile.
--
-- :user_slot smallint
-- :user      text
-- :device    text
--
-- > is_new boolean
WITH noted AS (
    INSERT INTO store.devices AS d (user_slot, user_id, device, first_at, last_at)
    SELECT :user_slot, :user, :device, now.at, now.at FROM (SELECT {ChangeTime.now} AS at) now
    WHERE NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
    ON CONFLICT (user_id, device, user_slot) DO UPDATE SET last_at = excluded.last_at
    -- A client that connects again and again writes nothing.
    WHERE d.last_at < excluded.last_at - interval '5 minutes'
    RETURNING d.first_at = d.last_at AS is_new
),
excess AS (
    DELETE FROM store.devices d USING noted
    WHERE d.user_slot = :user_slot AND d.user_id = :user AND d.device IN (
        SELECT o.device FROM store.devices o
        WHERE o.user_slot = :user_slot AND o.user_id = :user AND o.device <> :device
        ORDER BY o.last_at DESC, o.device OFFSET {ContractLimits.devicesPerUser} - 1)
)
SELECT coalesce((SELECT n.is_new FROM noted n), false) AS is_new
