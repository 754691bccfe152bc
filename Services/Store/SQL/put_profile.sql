-- Replaces a user's profile. Returns the outcome of the request and, if something changed, the version and the position on
-- the private stream.
--
-- Locks: the key (lock_keys), the user's slot (lock_users) and stream (begin_streams, lock_streams), under which nobody else
-- changes the row.
--
-- :user         text
-- :user_slot    smallint
-- :known_by     uuid[]     see prior_outcome
-- :display_name text       or NULL: none, as the following
-- :avatar_url   text
-- :extra        text
--
-- > problem smallint    Problem.Code, or 0
-- > version bigint      NULL: nothing changed, as in the following columns
-- > useq    bigint
-- > at      timestamptz
WITH {outcome_of_user(number => {PutProfile.number})},
-- Who never had anything in their profile has no row.
changed AS (
    INSERT INTO store.profiles AS p (user_slot, user_id, version, display_name, avatar_url, extra)
    SELECT :user_slot, :user, 1, :display_name, :avatar_url, :extra
    WHERE NOT EXISTS (SELECT FROM prior)
      AND (num_nonnulls(:display_name, :avatar_url, :extra) > 0
           OR EXISTS (SELECT FROM store.profiles q WHERE q.user_slot = :user_slot AND q.user_id = :user))
    ON CONFLICT (user_id, user_slot) DO UPDATE
    SET version = p.version + 1, display_name = excluded.display_name, avatar_url = excluded.avatar_url,
        extra = excluded.extra
    WHERE (p.display_name, p.avatar_url, p.extra) IS DISTINCT FROM
        (excluded.display_name, excluded.avatar_url, excluded.extra)
    RETURNING version
),
{tell_of_change(kind => {PrivateKind.profileChanged})}
SELECT coalesce((SELECT problem FROM prior), {Problem.none}::smallint) AS problem, changed.version,
    stream.last_useq AS useq, stream.at
FROM (VALUES (1)) one LEFT JOIN changed ON true LEFT JOIN stream ON true
