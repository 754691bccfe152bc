-- Takes texts out of the index of executables of before.
--
-- :slot
-- :conversation
-- :seqs          SELECT of the messages' positions
DELETE FROM store.search_texts x
WHERE x.slot = :slot AND x.conversation_id = :conversation AND x.seq = ANY (ARRAY(:seqs))
