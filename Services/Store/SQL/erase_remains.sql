-- Removes a piece of what remains of a user outside of conversations. The user is erased when nothing was left.
--
-- :user_slot smallint
-- :user      text
--
-- > next bigint    0: nothing is left
WITH no_changes AS (
    DELETE FROM store.user_changes c
    WHERE c.user_slot = :user_slot AND c.user_id = :user AND c.useq IN (
        SELECT o.useq FROM store.user_changes o
        WHERE o.user_slot = :user_slot AND o.user_id = :user ORDER BY o.useq LIMIT {ErasureStatements.rowsLimit})
    RETURNING 1
), no_outcomes AS (
    DELETE FROM store.outcomes k
    WHERE k.user_slot = :user_slot AND k.user_id = :user AND k.key IN (
        SELECT o.key FROM store.outcomes o
        WHERE o.user_slot = :user_slot AND o.user_id = :user ORDER BY o.key LIMIT {ErasureStatements.rowsLimit})
    RETURNING 1
), no_stream AS (
    DELETE FROM store.user_streams s WHERE s.user_slot = :user_slot AND s.user_id = :user
), no_settings AS (
    DELETE FROM store.user_settings s WHERE s.user_slot = :user_slot AND s.user_id = :user
), no_blocks AS (
    DELETE FROM store.blocks b WHERE b.user_slot = :user_slot AND b.user_id = :user
), no_introductions AS (
    DELETE FROM store.introductions x WHERE x.user_slot = :user_slot AND x.user_id = :user
), no_scheduled AS (
    DELETE FROM store.scheduled x WHERE x.user_slot = :user_slot AND x.user_id = :user
), no_devices AS (
    DELETE FROM store.devices d WHERE d.user_slot = :user_slot AND d.user_id = :user
), no_reason AS (
    UPDATE store.suspensions s SET reason = NULL
    WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.reason IS NOT NULL
), rest AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM no_changes) OR EXISTS (SELECT FROM no_outcomes)
        OR EXISTS (SELECT FROM store.inbox i WHERE i.user_slot = :user_slot AND i.user_id = :user)
        OR EXISTS (SELECT FROM store.shadow_listings l WHERE l.user_slot = :user_slot AND l.user_id = :user) AS is_left
), counted AS (
    UPDATE store.erasures e
    SET private_changes = e.private_changes + (SELECT count(*) FROM no_changes),
        outcomes = e.outcomes + (SELECT count(*) FROM no_outcomes),
        erased_at = CASE WHEN rest.is_left THEN e.erased_at
            ELSE coalesce(e.erased_at, {ChangeTime.now}) END
    FROM rest
    WHERE e.user_slot = :user_slot AND e.user_id = :user
)
SELECT CASE WHEN rest.is_left THEN 1::bigint ELSE 0::bigint END AS next FROM rest
