-- Locks users by slot, which takes few locks even for a conversation with many members. Whoever is alone holds the slot
-- exclusively, such as the start of an erasure; all others share it.
--
-- :slots smallint[]
-- :alone boolean[]
--
-- > locked void
SELECT CASE WHEN u.alone THEN pg_advisory_xact_lock({Schema.erasureLocks}, u.slot)
    ELSE pg_advisory_xact_lock_shared({Schema.erasureLocks}, u.slot) END AS locked
FROM (
    SELECT slot::integer, alone FROM unnest(:slots, :alone) AS t(slot, alone) ORDER BY slot
) u
