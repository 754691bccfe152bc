-- Gives blocks the filters of their texts, under the locks of their progress (lock_searches). One whose texts have changed
-- since they were read is skipped.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :blocks        bigint[]
-- :parts         smallint[]
-- :texts         text[]       as they were read
-- :filters       text[]       hexadecimal
UPDATE store.search_blocks b SET filter = ('x' || i.filter)::bit(4096)
FROM unnest(:slots, :conversations, :blocks, :parts, :texts, :filters)
    AS i (slot, conversation_id, block, part, texts, filter)
WHERE b.slot = i.slot AND b.conversation_id = i.conversation_id AND b.block = i.block AND b.part = i.part
  AND array_to_string(b.texts, '') = i.texts
