-- Removes the name of an erased user from the blocks of another, and from what their devices were told of them.
--
-- :user         text
-- :blocker_slot smallint
-- :blocker      text
--
-- > next bigint    0: nothing is left
WITH no_block AS (
    DELETE FROM store.blocks b WHERE b.user_slot = :blocker_slot AND b.user_id = :blocker AND b.blocked_id = :user
), no_name AS (
    UPDATE store.user_changes h SET about_id = NULL
    WHERE h.user_slot = :blocker_slot AND h.user_id = :blocker AND h.about_id = :user
)
SELECT 0::bigint AS next
