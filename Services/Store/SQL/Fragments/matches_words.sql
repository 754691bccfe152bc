-- Whether the text `t` in the block of stretch `s` holds the words of a query.
--
-- :query
t.words @@ replace(:query, '~', store.search_block(s.conversation_id, block.number << 10))::tsquery
