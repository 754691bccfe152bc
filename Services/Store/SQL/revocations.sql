-- The revocations of a slot in the order of their numbers, suspensions among them.
--
-- :slot  smallint
-- :after bigint      a number
--
-- > last_number bigint         of the slot
-- > number      bigint         NULL: there is none after the number, and the rest is NULL, too
-- > user_id     text
-- > device      text           NULL: of all tokens of the user
-- > is_all_but  boolean        NULL with the device
-- > before      timestamptz    NULL: it is a suspension
-- > mode        smallint       of a suspension
-- > until       timestamptz    of a suspension, or NULL: for ever
SELECT {last_revocation(user_slot => :slot)} AS last_number, r.number, r.user_id, r.device, r.is_all_but, r.before, r.mode, r.until
FROM (SELECT 1) one
LEFT JOIN LATERAL (
    (SELECT r.number, r.user_id, NULL AS device, NULL::boolean AS is_all_but, r.before, NULL::smallint AS mode,
        NULL::timestamptz AS until FROM store.revocations r
     WHERE r.user_slot = :slot AND r.number > :after ORDER BY r.number LIMIT {RevocationStatements.rowsLimit})
    UNION ALL
    (SELECT r.number, r.user_id, r.device, r.is_all_but, r.before, NULL, NULL FROM store.device_revocations r
     WHERE r.user_slot = :slot AND r.number > :after ORDER BY r.number LIMIT {RevocationStatements.rowsLimit})
    UNION ALL
    (SELECT r.number, r.user_id, NULL, NULL, NULL, r.mode, r.until FROM store.suspensions r
     WHERE r.user_slot = :slot AND r.number > :after ORDER BY r.number LIMIT {RevocationStatements.rowsLimit})
    ORDER BY number LIMIT {RevocationStatements.rowsLimit}
) r ON true
ORDER BY r.number
