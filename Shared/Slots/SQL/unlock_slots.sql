-- Releases the locks of slots.
--
-- :lock_class integer       of slots
-- :slots      smallint[]
--
-- > is_unlocked boolean
SELECT pg_advisory_unlock(:lock_class, slot::integer) AS is_unlocked FROM unnest(:slots) AS slot
