-- Whether a row of pg_locks is the lock of a member.
--
-- :lock_class    of members
locktype = 'advisory' AND classid::bigint = :lock_class AND objsubid = 2 AND granted
AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
