-- Begins the erasure of a user, or finds the one that has begun. It runs under the exclusive lock of the slot (lock_users): a
-- batch that adds the user to a conversation waits, and then finds them erased. The profile goes at once: it is all that others
-- see of the user beside what they did in conversations.
--
-- :user_slot smallint
-- :user      text
--
-- > {erasure}
WITH fresh AS (
    INSERT INTO store.erasures (user_slot, user_id, number, requested_at)
    SELECT :user_slot, :user, 1 + coalesce((SELECT max(e.number) FROM store.erasures e WHERE e.user_slot = :user_slot), 0),
        {ChangeTime.now}
    ON CONFLICT (user_id, user_slot) DO NOTHING
    RETURNING *
), no_profile AS (
    DELETE FROM store.profiles p WHERE p.user_slot = :user_slot AND p.user_id = :user
)
SELECT {erasure} FROM fresh e
UNION ALL
SELECT {erasure} FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user
