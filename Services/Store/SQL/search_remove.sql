-- Takes texts out of the index that were edited or deleted behind it, under the lock of its progress (lock_searches). The
-- change did so itself, unless an executable of before made it. A conversation that somebody else has indexed since it was read
-- is skipped, as in search_add: their texts are there again.
--
-- :slot         smallint
-- :conversation uuid
-- :since        bigint     the position up to which it was indexed when it was read
-- :seqs         bigint[]
{unindexed(seqs => SELECT s.seq FROM unnest(:seqs) AS s(seq) JOIN store.search_positions p
    ON p.slot = :slot AND p.conversation_id = :conversation AND p.indexed_seq = :since)}
