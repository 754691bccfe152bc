-- Stores a user's own settings. Returns the outcome of the request and, if something changed, the settings and the position
-- on the private stream.
--
-- An existing row is changed under its lock, so two devices that set different settings at once both succeed. Locks: the
-- key (lock_keys), the user's slot (lock_users) and stream (begin_streams, lock_streams).
--
-- :user          text
-- :user_slot     smallint
-- :known_by      uuid[]     see prior_outcome
-- :read_receipts boolean    or NULL: unchanged
-- :presence      boolean    or NULL: unchanged
--
-- > problem       smallint    Problem.Code, or 0
-- > read_receipts boolean     NULL: nothing changed, as in the following columns
-- > presence      boolean
-- > useq          bigint
-- > at            timestamptz
WITH
-- A repetition locks the outcome, which is a write. Its commit, and therefore the response, waits for a synchronous
-- standby as the first one did.
prior AS MATERIALIZED (
    -- The number alone says too little: that of leaving a list is the same.
    SELECT CASE WHEN (o.action, o.conversation_id) = ({PutSettings.number}, {PutSettings.conversation}) THEN o.problem
        ELSE {Problem.conflict} END::smallint AS problem
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
    SELECT :user_slot, :user, :known_by[1], {PutSettings.number}, {PutSettings.conversation},
        {Problem.none}, {ChangeTime.now}
    WHERE :known_by[1] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
),
kept_awhile AS (
    INSERT INTO store.recent_outcomes (slot, request, problem, at)
    SELECT :user_slot, :known_by[2], {Problem.none}, {ChangeTime.now}
    WHERE :known_by[2] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
),
-- Who has the settings that everybody begins with has no row.
changed AS (
    INSERT INTO store.user_settings AS s (user_slot, user_id, read_receipts, presence)
    SELECT :user_slot, :user, coalesce(:read_receipts, true), coalesce(:presence, true)
    WHERE NOT EXISTS (SELECT FROM prior)
      AND (NOT coalesce(:read_receipts, true) OR NOT coalesce(:presence, true)
           OR EXISTS (SELECT FROM store.user_settings u WHERE u.user_slot = :user_slot AND u.user_id = :user))
    ON CONFLICT (user_id, user_slot) DO UPDATE
    SET read_receipts = coalesce(:read_receipts, s.read_receipts), presence = coalesce(:presence, s.presence)
    WHERE (coalesce(:read_receipts, s.read_receipts), coalesce(:presence, s.presence)) <> (s.read_receipts, s.presence)
    RETURNING read_receipts, presence
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
    SELECT :user_slot, :user, 1 FROM changed
    ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
    RETURNING last_useq, {ChangeTime.now} AS at
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at)
    SELECT :user_slot, :user, last_useq, {PrivateKind.settingsChanged}, at FROM stream
)
SELECT coalesce((SELECT problem FROM prior), {Problem.none}::smallint) AS problem, changed.read_receipts,
    changed.presence, stream.last_useq AS useq, stream.at
FROM (VALUES (1)) one LEFT JOIN changed ON true LEFT JOIN stream ON true
