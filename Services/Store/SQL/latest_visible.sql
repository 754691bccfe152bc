-- The last message that a reader sees in each of some ranges of positions.
--
-- :reader        text
-- :slots         smallint[]
-- :conversations uuid[]
-- :first_seqs    bigint[]
-- :last_seqs     bigint[]
--
-- > place integer    the range, counted from 1
-- > seq   bigint     NULL: there is none
SELECT i.n::int AS place, (
    SELECT m.seq FROM store.messages m
    WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.seq BETWEEN i.first_seq AND i.last_seq
      AND {is_visible_in_range}
    ORDER BY m.seq DESC LIMIT 1) AS seq
FROM unnest(:slots, :conversations, :first_seqs, :last_seqs) WITH ORDINALITY
    AS i (slot, conversation_id, first_seq, last_seq, n)
