-- Counts the messages that mention the reader in ranges of positions, each of one conversation. Only the latest messages that
-- mention anybody are looked at, and whoever sends more of them makes nobody wait.
--
-- :reader        text
-- :slots         smallint[]
-- :conversations uuid[]
-- :first_seqs    bigint[]
-- :last_seqs     bigint[]
--
-- > place integer    the range, counted from 1
-- > count integer
SELECT i.n::int AS place, (
    SELECT least(count(*), {UnreadStatement.limit}) FROM (
        SELECT m.seq, m.sender_id, m.deleted_at, m.mentions FROM store.messages m
        WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.seq BETWEEN i.first_seq AND i.last_seq
          AND m.mentions IS NOT NULL
        ORDER BY m.seq DESC LIMIT {UnreadStatement.mentioningRows}
    ) m
    WHERE m.mentions && ARRAY[:reader, {Mentions.everybody}] AND m.sender_id <> :reader AND m.deleted_at IS NULL
      AND {is_visible_in_range})::int AS count
FROM unnest(:slots, :conversations, :first_seqs, :last_seqs) WITH ORDINALITY
    AS i (slot, conversation_id, first_seq, last_seq, n)
