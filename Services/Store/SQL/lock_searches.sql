-- Locks the index progress of conversations, which the indexer holds while it writes. After this statement its rows are
-- visible and no new ones appear. A row that does not exist yet cannot be locked, so it is written; one that conflicts is
-- locked, and stays as it is.
--
-- :slots         smallint[]
-- :conversations uuid[]
INSERT INTO store.search_positions AS p (slot, conversation_id, indexed_seq)
SELECT c.slot, c.id, 0 FROM store.conversations c
WHERE (c.slot, c.id) IN (SELECT * FROM unnest(:slots, :conversations))
ORDER BY c.id, c.slot
ON CONFLICT (conversation_id, slot) DO UPDATE SET indexed_seq = p.indexed_seq WHERE false
