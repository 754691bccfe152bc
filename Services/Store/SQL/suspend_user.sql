-- Suspends a user, or lifts their suspension, under the exclusive lock of the slot (lock_users). The last one counts. What has
-- been over for long is removed meanwhile: what takes a number leaves the slot's last one in place.
--
-- :user_slot smallint
-- :user      text
-- :mode      smallint       SuspensionMode, or 0: lifts it
-- :until     timestamptz    or NULL: for ever
-- :reason    text           or NULL
--
-- > number    bigint         NULL: they were never suspended, and the following are NULL, too
-- > mode      smallint       that is in force
-- > until     timestamptz
-- > is_moved  boolean
-- > is_erased boolean        nobody suspends them any more
WITH state AS MATERIALIZED (
    SELECT {ChangeTime.now} AS at,
        EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user) AS is_erased,
        EXISTS (SELECT FROM store.suspensions s
                WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.mode > 0) AS is_suspended
),
moved AS (
    INSERT INTO store.suspensions AS s (user_slot, user_id, number, mode, since, until, reason)
    SELECT :user_slot, :user, 1 + {last_revocation}, :mode, state.at,
        CASE WHEN :mode = 0 THEN state.at ELSE :until::timestamptz END, :reason::text
    FROM state WHERE CASE WHEN :mode = 0 THEN state.is_suspended ELSE NOT state.is_erased END
    ON CONFLICT (user_id, user_slot) DO UPDATE
    SET number = excluded.number, mode = excluded.mode, since = excluded.since, until = excluded.until,
        reason = excluded.reason
    WHERE (s.mode, s.until, s.reason) IS DISTINCT FROM (excluded.mode, excluded.until, excluded.reason)
    RETURNING s.number, s.mode, s.until
),
forgotten AS (
    DELETE FROM store.suspensions s USING (
        SELECT o.user_id FROM store.suspensions o, state
        WHERE o.user_slot = :user_slot AND o.until < state.at - {RevocationStatements.suspensionKeptFor} AND o.user_id <> :user
        ORDER BY o.until LIMIT {RevocationStatements.forgottenAtOnce}
    ) over
    WHERE s.user_slot = :user_slot AND s.user_id = over.user_id AND EXISTS (SELECT FROM moved)
)
SELECT coalesce(m.number, s.number) AS number, coalesce(m.mode, s.mode) AS mode,
    CASE WHEN m.number IS NULL THEN s.until ELSE m.until END AS until, m.number IS NOT NULL AS is_moved, state.is_erased
FROM state LEFT JOIN moved m ON true
LEFT JOIN store.suspensions s ON s.user_slot = :user_slot AND s.user_id = :user
