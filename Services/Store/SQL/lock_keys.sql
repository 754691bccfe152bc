-- Locks keys by their hash. If two keys share one, one batch waits for the other without further harm.
--
-- :users text[]     the users that the keys belong to; empty: the key is the id of a conversation
-- :keys  uuid[]
--
-- > locked void
SELECT pg_advisory_xact_lock(k.hash) AS locked FROM (
    SELECT DISTINCT hashtextextended(user_id || ' ' || key, 0) AS hash
    FROM unnest(:users, :keys) AS t(user_id, key)
    ORDER BY 1
) k
