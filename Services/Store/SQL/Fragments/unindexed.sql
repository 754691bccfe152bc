-- Takes texts out of the index in the transaction that changes or erases them, whose conversation's index is locked before
-- (lock_searches). Their blocks' filters, which tell of them, go too; the indexer makes new ones.
--
-- :slot
-- :conversation
-- :seqs          SELECT of the messages' positions
UPDATE store.search_blocks b SET (filter, seqs, ats, texts) = (
    SELECT NULL::bit(4096), coalesce(array_agg(t.seq), '{}'), coalesce(array_agg(t.at), '{}'),
        coalesce(array_agg(t.text), '{}')
    FROM unnest(b.seqs, b.ats, b.texts) AS t(seq, at, text) WHERE t.seq <> ALL (ARRAY(:seqs)))
WHERE b.slot = :slot AND b.conversation_id = :conversation
  AND b.block = ANY (ARRAY(SELECT x.seq / {SearchBlock.positions} FROM (:seqs) AS x(seq))) AND b.seqs && ARRAY(:seqs)
