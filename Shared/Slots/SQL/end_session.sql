-- Ends the session of a silent member, if the server agrees. The session must still hold the member's lock under the given
-- process id, belong to this role, have begun and ended nothing for a while, and wait for its client. A session that runs
-- a long statement, waits for a lock or waits for a standby is left alone: its successor would wait there, too. A state
-- change in the future means that the clock was set back since. No row: none matched.
--
-- :lock_class bigint     of members
-- :member     bigint
-- :session    integer
-- :quiet      bigint     how long it must have done nothing, in milliseconds
--
-- > is_ended boolean
SELECT pg_terminate_backend(pid) AS is_ended FROM pg_locks JOIN pg_stat_activity USING (pid)
WHERE {is_member_lock} AND objid::bigint = :member AND pid = :session
  AND usename = current_user AND wait_event_type = 'Client'
  AND state_change NOT BETWEEN clock_timestamp() - :quiet * interval '1 millisecond' AND clock_timestamp()
