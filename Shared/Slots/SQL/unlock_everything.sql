-- Releases all locks of this session.
--
-- > is_unlocked void
SELECT pg_advisory_unlock_all() AS is_unlocked
