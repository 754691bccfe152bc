-- Files that somebody has to look at, the longest waiting first. They are due again after a while, in case that this
-- process ends before it has.
--
-- :slots smallint[]
--
-- > {object_columns}
WITH due AS (
    SELECT d.slot, d.id FROM media.objects d
    WHERE d.slot = ANY (:slots) AND d.due_at <= now()
    ORDER BY d.due_at LIMIT {Caretaker.rowsPerStep} FOR UPDATE SKIP LOCKED
), noted AS (
    UPDATE media.objects n
    SET due_at = {now} + {inspection_patience}
    FROM due d WHERE n.slot = d.slot AND n.id = d.id
    RETURNING n.*
)
SELECT {object_columns} FROM noted o
