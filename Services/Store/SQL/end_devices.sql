-- Revokes the tokens of a user's device, or of all but it, under the exclusive lock of the slot (lock_users). The devices leave the
-- list. Revocations of single devices that the one of all others includes go, so whoever has as many as are kept goes on with that.
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
    SELECT count(*) FILTER (WHERE NOT (
            :is_all_but AND NOT r.is_all_but AND r.device <> :device AND r.before <= :before)) AS count,
        coalesce(bool_or(r.device = :device AND r.is_all_but = :is_all_but), false) AS is_known
    FROM store.device_revocations r WHERE r.user_slot = :user_slot AND r.user_id = :user
),
moved AS (
    INSERT INTO store.device_revocations AS r (user_slot, user_id, device, is_all_but, number, before)
    SELECT :user_slot, :user, :device, :is_all_but, 1 + {last_revocation}, :before
    FROM known WHERE known.is_known OR known.count < {ContractLimits.devicesPerUser}
    ON CONFLICT (user_id, device, is_all_but, user_slot) DO UPDATE SET number = excluded.number, before = excluded.before
    WHERE r.before < excluded.before
    RETURNING r.number, r.before
),
included AS (
    DELETE FROM store.device_revocations r USING moved
    WHERE r.user_slot = :user_slot AND r.user_id = :user
      AND :is_all_but AND NOT r.is_all_but AND r.device <> :device AND r.before <= :before
),
unlisted AS (
    DELETE FROM store.devices d USING moved
    WHERE d.user_slot = :user_slot AND d.user_id = :user AND (d.device = :device) <> :is_all_but
)
SELECT coalesce(m.number, r.number) AS number, coalesce(m.before, r.before) AS before, m.number IS NOT NULL AS is_moved
FROM (SELECT 1) one
LEFT JOIN moved m ON true
LEFT JOIN store.device_revocations r
    ON r.user_slot = :user_slot AND r.user_id = :user AND r.device = :device AND r.is_all_but = :is_all_but
