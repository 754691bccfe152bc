-- A user's own settings: exactly one row. Who never changed any has the ones that everybody begins with.
--
-- :user         text
-- :user_slot    smallint
--
-- > read_receipts boolean
-- > presence      boolean
SELECT coalesce(s.read_receipts, true) AS read_receipts, coalesce(s.presence, true) AS presence
FROM (VALUES (1)) one LEFT JOIN store.user_settings s ON s.user_slot = :user_slot AND s.user_id = :user
