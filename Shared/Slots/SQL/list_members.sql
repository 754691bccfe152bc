-- The members: the sessions that hold a member's lock.
--
-- :lock_class bigint    of members
--
-- > id        bigint
-- > session   integer        the process id of its backend
-- > seen_at   timestamptz    its last heartbeat; 1970 when there is none
-- > is_recent boolean        whether that is within three seconds
SELECT objid::bigint AS id, pid AS session, coalesce(seen_at, 'epoch') AS seen_at,
    coalesce(seen_at > clock_timestamp() - interval '3 seconds', false) AS is_recent
FROM pg_locks LEFT JOIN {schema}.services ON id = objid::bigint
WHERE {is_member_lock}
