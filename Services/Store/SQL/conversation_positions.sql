-- Which of a subscriber's conversations have moved on in the database.
--
-- :slot          smallint
-- :conversations uuid[]
-- :seqs          bigint[]    that the subscriber has
--
-- > id       uuid
-- > last_seq bigint
SELECT c.id, c.last_seq FROM unnest(:conversations, :seqs) AS held (id, seq)
JOIN store.conversations c ON c.slot = :slot AND c.id = held.id
WHERE c.last_seq > held.seq
