-- Merges the texts that were added. A search would otherwise read all of them.
--
-- > pages bigint
SELECT store.merge_search_index() AS pages
