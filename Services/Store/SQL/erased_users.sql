-- Erased users of a slot in the order of their numbers.
--
-- :slot  smallint
-- :after bigint      a number
--
-- > last_number bigint    of the slot
-- > user_id     text      NULL: there is no name after the number
SELECT coalesce((SELECT max(e.number) FROM store.erasures e WHERE e.user_slot = :slot), 0) AS last_number, e.user_id
FROM (SELECT 1) one
LEFT JOIN LATERAL (
    SELECT e.user_id, e.number FROM store.erasures e WHERE e.user_slot = :slot AND e.number > :after
    ORDER BY e.number LIMIT {ErasureStatements.rowsLimit}
) e ON true
ORDER BY e.number
