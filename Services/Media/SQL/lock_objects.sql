-- Locks files in the order of their keys, before messages are to carry them or lose them.
--
-- :slot  smallint
-- :media uuid[]
--
-- > id uuid
SELECT o.id FROM media.objects o
WHERE o.slot = :slot AND o.id = ANY (:media)
ORDER BY o.id, o.slot
FOR UPDATE
