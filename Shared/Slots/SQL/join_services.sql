-- Takes the lock of a member, by which the others see this session.
--
-- :lock_class integer    of members
-- :member     integer
--
-- > is_locked void
SELECT pg_advisory_lock(:lock_class, :member) AS is_locked
