-- Adds texts to the index, under the locks of its progress (lock_searches). A text edited since it was read is skipped: the
-- edit has a higher position and is indexed there.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :seqs          bigint[]
-- :bodies        text[]        the texts as they were read
-- :lexemes       text[]        their words, with spaces between
-- :texts         text[]        the texts for the search of parts
INSERT INTO store.search_texts (slot, conversation_id, seq, at, since_seq, words, text)
SELECT i.slot, i.conversation_id, i.seq, m.created_at,
    CASE WHEN m.edited_at IS NULL THEN m.seq ELSE (
        SELECT coalesce(max(v.replaced_seq), m.seq) FROM store.revisions v
        WHERE v.slot = m.slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id) END,
    array_to_tsvector(CASE WHEN i.lexemes = '' THEN '{}'
        ELSE string_to_array(b.block || replace(i.lexemes, ' ', ' ' || b.block), ' ') END),
    i.text
FROM unnest(:slots, :conversations, :seqs, :bodies, :lexemes, :texts)
    AS i (slot, conversation_id, seq, body, lexemes, text)
JOIN store.messages m ON m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.seq = i.seq
CROSS JOIN LATERAL (SELECT store.search_block(i.conversation_id, i.seq) AS block OFFSET 0) b
WHERE m.body = i.body
ON CONFLICT (conversation_id, seq, slot) DO UPDATE
    SET since_seq = excluded.since_seq, words = excluded.words, text = excluded.text
