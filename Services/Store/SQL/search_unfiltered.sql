-- The texts of some blocks without a filter.
--
-- :slots smallint[]
-- :limit bigint
--
-- > slot            smallint
-- > conversation_id uuid
-- > block           bigint
-- > part            smallint
-- > texts           text
SELECT b.slot, b.conversation_id, b.block, b.part, array_to_string(b.texts, '') AS texts FROM store.search_blocks b
WHERE b.slot = ANY (:slots) AND b.filter IS NULL
LIMIT :limit
