-- Records up to where conversations are indexed.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :through       bigint[]
UPDATE store.search_progress p SET indexed_seq = greatest(p.indexed_seq, i.through)
FROM unnest(:slots, :conversations, :through) AS i (slot, conversation_id, through)
WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id
