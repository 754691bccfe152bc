-- The revocations of a slot in the order of their numbers.
--
-- :slot  smallint
-- :after bigint      a number
--
-- > last_number bigint         of the slot
-- > number      bigint         NULL: there is none after the number, and the rest is NULL, too
-- > user_id     text
-- > before      timestamptz
SELECT coalesce((SELECT max(r.number) FROM store.revocations r WHERE r.user_slot = :slot), 0) AS last_number,
    r.number, r.user_id, r.before
FROM (SELECT 1) one
LEFT JOIN LATERAL (
    SELECT r.number, r.user_id, r.before FROM store.revocations r WHERE r.user_slot = :slot AND r.number > :after
    ORDER BY r.number LIMIT {RevocationStatements.rowsLimit}
) r ON true
ORDER BY r.number
