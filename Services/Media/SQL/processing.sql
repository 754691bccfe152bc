-- Files that are to be looked into, of slots that were taken over: whoever was about to may be gone.
--
-- :slots smallint[]
--
-- > id uuid
SELECT o.id FROM media.objects o
WHERE o.slot = ANY (:slots) AND o.state = {ObjectState.processing}
LIMIT {Caretaker.rowsPerStep}
