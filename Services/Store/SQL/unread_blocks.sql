-- Counts the messages in ranges of positions, each in one block.
--
-- :reader        text
-- :slots         smallint[]
-- :conversations uuid[]
-- :first_seqs    bigint[]
-- :last_seqs     bigint[]
--
-- > place    integer    the range, counted from 1
-- > count    integer    the messages that count for the reader
-- > is_empty boolean    whether none counts for anybody
SELECT i.n::int AS place, m.count::int AS count, m.is_empty
FROM unnest(:slots, :conversations, :first_seqs, :last_seqs) WITH ORDINALITY
    AS i (slot, conversation_id, first_seq, last_seq, n)
CROSS JOIN LATERAL (
    SELECT count(*) FILTER (WHERE m.counts AND m.sender_id <> :reader AND {is_visible_in_range}) AS count,
        count(*) FILTER (WHERE m.counts) = 0 AS is_empty
    FROM (
        SELECT m.seq, m.sender_id, m.kind <> {MessageKind.system} AND m.deleted_at IS NULL AS counts FROM store.messages m
        WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.seq BETWEEN i.first_seq AND i.last_seq
        OFFSET 0
    ) m
) m
