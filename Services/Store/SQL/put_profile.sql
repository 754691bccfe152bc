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
WITH
-- As in put_settings.
prior AS MATERIALIZED (
    SELECT CASE WHEN o.action = {PutProfile.number} THEN o.problem ELSE {Problem.conflict} END::smallint AS problem
    FROM (
        SELECT * FROM store.outcomes WHERE user_slot = :user_slot AND user_id = :user AND key = :known_by[1]
        FOR NO KEY UPDATE
    ) o
    WHERE NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
    UNION ALL
    SELECT r.problem FROM store.recent_outcomes r
    WHERE r.slot = :user_slot AND r.request = :known_by[2]
      AND NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
    UNION ALL
    SELECT {Problem.unauthenticated}::smallint FROM store.erasures e
    WHERE e.user_slot = :user_slot AND e.user_id = :user
),
kept AS (
    INSERT INTO store.outcomes (user_slot, user_id, key, action, conversation_id, problem, at)
    SELECT :user_slot, :user, :known_by[1], {PutProfile.number}, {PutSettings.conversation}, {Problem.none}, {ChangeTime.now}
    WHERE :known_by[1] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
),
kept_awhile AS (
    INSERT INTO store.recent_outcomes (slot, request, problem, at)
    SELECT :user_slot, :known_by[2], {Problem.none}, {ChangeTime.now}
    WHERE :known_by[2] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
),
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
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
    SELECT :user_slot, :user, 1 FROM changed
    ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
    RETURNING last_useq, {ChangeTime.now} AS at
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at)
    SELECT :user_slot, :user, last_useq, {PrivateKind.profileChanged}, at FROM stream
)
SELECT coalesce((SELECT problem FROM prior), {Problem.none}::smallint) AS problem, changed.version,
    stream.last_useq AS useq, stream.at
FROM (VALUES (1)) one LEFT JOIN changed ON true LEFT JOIN stream ON true
