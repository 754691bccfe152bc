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
WITH {outcome_of_user(number => {PutSettings.number})},
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
{tell_of_change(kind => {PrivateKind.settingsChanged})}
SELECT coalesce((SELECT problem FROM prior), {Problem.none}::smallint) AS problem, changed.read_receipts,
    changed.presence, stream.last_useq AS useq, stream.at
FROM (VALUES (1)) one LEFT JOIN changed ON true LEFT JOIN stream ON true
