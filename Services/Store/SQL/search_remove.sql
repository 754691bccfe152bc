-- Takes texts out of the index that were edited or deleted behind it, under the lock of its progress (lock_searches). The
-- change did so itself, unless an executable of before made it.
--
-- :slot         smallint
-- :conversation uuid
-- :seqs         bigint[]
{unindexed(seqs => SELECT s.seq FROM unnest(:seqs) AS s(seq))}
