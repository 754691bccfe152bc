-- Makes this transaction's commit neither wait for the disk nor for a standby: heartbeats need not survive a crash, and
-- must not take disk time from messages.
--
-- > setting text
SELECT set_config('synchronous_commit', 'off', true) AS setting
