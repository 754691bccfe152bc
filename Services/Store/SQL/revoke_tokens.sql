-- Revokes a user's tokens, under the exclusive lock of the slot (lock_users).
--
-- :user_slot smallint
-- :user      text
-- :before    timestamptz    the tokens from before this are refused
--
-- > number   bigint
-- > before   timestamptz    that is in force
-- > is_moved boolean
WITH moved AS (
    INSERT INTO store.revocations AS r (user_slot, user_id, number, before)
    SELECT :user_slot, :user, 1 + {last_revocation}, :before
    ON CONFLICT (user_id, user_slot) DO UPDATE SET number = excluded.number, before = excluded.before
    WHERE r.before < excluded.before
    RETURNING r.number, r.before
)
SELECT m.number, m.before, true AS is_moved FROM moved m
UNION ALL
SELECT r.number, r.before, false FROM store.revocations r
WHERE r.user_slot = :user_slot AND r.user_id = :user AND NOT EXISTS (SELECT FROM moved)
