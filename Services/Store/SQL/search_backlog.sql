-- A page of the conversations of some slots that are not fully indexed. It reads the progress of all, for a store that takes
-- over slots from one that left no notes.
--
-- :slots smallint[]
-- :after uuid          the last conversation of the page before
-- :limit bigint
--
-- > id uuid
SELECT c.id FROM store.conversations c
WHERE c.slot = ANY (:slots) AND c.id > :after AND c.last_seq > coalesce((
    SELECT p.indexed_seq FROM store.search_positions p
    WHERE p.slot = c.slot AND p.conversation_id = c.id), 0)
ORDER BY c.id LIMIT :limit
