-- Revokes the tokens of a user's device, or of all but it, under the exclusive lock of the slot (lock_users). The devices leave the
-- list.
--
-- A revocation of all but a device includes those from before it. What is left of one of all but another device is about this
-- device alone, and becomes one of its own, under a number of its own: so a user has few rows, however often they do it.
--
-- :user_slot  smallint
-- :user       text
-- :device     text
-- :is_all_but boolean
-- :before     timestamptz    the tokens from before this are refused
--
-- > number   bigint         NULL: there are too many, and nothing is done
-- > before   timestamptz    that is in force
-- > is_moved boolean
WITH known AS MATERIALIZED (
    SELECT r.device, r.is_all_but, r.before,
        :is_all_but AND r.device <> :device AND r.before <= :before AS is_included
    FROM store.device_revocations r WHERE r.user_slot = :user_slot AND r.user_id = :user
),
added AS MATERIALIZED (
    SELECT false AS is_all_but, 1 AS step, max(k.before) AS before FROM known k WHERE k.is_included AND k.is_all_but
    HAVING count(*) > 0
    UNION ALL
    SELECT :is_all_but, 2, :before::timestamptz
    WHERE (SELECT count(*) FROM known k WHERE NOT k.is_included) < {ContractLimits.devicesPerUser}
       OR EXISTS (SELECT FROM known k WHERE k.device = :device AND k.is_all_but = :is_all_but)
),
included AS (
    DELETE FROM store.device_revocations r USING known k
    WHERE r.user_slot = :user_slot AND r.user_id = :user AND r.device = k.device AND r.is_all_but = k.is_all_but AND k.is_included
      AND EXISTS (SELECT FROM added a WHERE a.step = 2)
),
moved AS (
    INSERT INTO store.device_revocations AS r (user_slot, user_id, device, is_all_but, number, before)
    SELECT :user_slot, :user, :device, a.is_all_but, {last_revocation} + row_number() OVER (ORDER BY a.step), a.before
    FROM added a WHERE EXISTS (SELECT FROM added a WHERE a.step = 2)
    ON CONFLICT (user_id, device, is_all_but, user_slot) DO UPDATE SET number = excluded.number, before = excluded.before
    WHERE r.before < excluded.before
    RETURNING r.is_all_but, r.number, r.before
),
unlisted AS (
    DELETE FROM store.devices d USING moved m
    WHERE d.user_slot = :user_slot AND d.user_id = :user AND m.is_all_but = :is_all_but AND (d.device = :device) <> :is_all_but
)
SELECT coalesce(m.number, r.number) AS number, coalesce(m.before, r.before) AS before, m.number IS NOT NULL AS is_moved
FROM (SELECT 1) one
LEFT JOIN moved m ON m.is_all_but = :is_all_but
LEFT JOIN store.device_revocations r
    ON r.user_slot = :user_slot AND r.user_id = :user AND r.device = :device AND r.is_all_but = :is_all_but
