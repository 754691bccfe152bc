-- Whether the text `t` lies in the block of stretch `s` and has a pattern.
--
-- :query
store.search_block(t.conversation_id, t.seq) = store.search_block(s.conversation_id, block.number << 10)
    AND t.text LIKE :query
