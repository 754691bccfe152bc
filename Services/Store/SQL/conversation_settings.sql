-- A user's settings in force in one conversation. No row for a user who never was a member.
--
-- :slot         smallint
-- :conversation uuid
-- :user         text
-- :user_slot    smallint
--
-- > read_receipts boolean
-- > inherits_read_receipts boolean   they follow the user's own setting
SELECT coalesce(
        s.read_receipts,
        (SELECT u.read_receipts FROM store.user_settings u WHERE u.user_slot = :user_slot AND u.user_id = :user),
        true) AS read_receipts,
    s.read_receipts IS NULL AS inherits_read_receipts
FROM (VALUES (1)) one
LEFT JOIN store.conversation_settings s
    ON s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
WHERE EXISTS (
    SELECT FROM store.memberships m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.user_id = :user)
