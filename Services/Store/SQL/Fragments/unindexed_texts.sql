-- SELECT of the texts that {find_messages} has to examine in the stretches `stays` of its `last_step`: those not indexed yet,
-- and those whose indexed text is newer than the reader's stay. Texts of ASCII alone are folded by removing case and
-- apostrophes, which filters out most that do not match. Names of attachments are looked at as they are.
--
-- Messages are edited within minutes, so edits long after the reader left are not examined. A change may remove a mention of
-- an erased user and keep the text. The index has already found such a message.
--
-- :reader
-- :before_at
-- :before_conversation
-- :before_seq
-- :ascii_patterns
SELECT m.slot, m.conversation_id, m.seq, s.position, octet_length(t.body) + coalesce(octet_length(m.attachments), 0) AS bytes,
    row_number() OVER (ORDER BY m.created_at DESC, m.conversation_id DESC, m.seq DESC) AS place
FROM last_step l
JOIN stays s ON s.place <= l.done AND (NOT s.is_indexed OR s.position < {Int64.max})
CROSS JOIN LATERAL (
    (SELECT m.* FROM store.messages m
     WHERE m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.seq > s.indexed_seq
       AND m.seq BETWEEN s.first_seq AND s.last_seq
     ORDER BY m.seq DESC LIMIT {SearchStatements.unindexedLimit})
    UNION ALL
    (SELECT m.* FROM (
        SELECT DISTINCT h.message_id FROM (
            SELECT h.message_id, h.kind FROM store.changes h
            WHERE h.slot = s.slot AND h.conversation_id = s.conversation_id
              AND h.seq > least(s.indexed_seq, s.position)
            ORDER BY h.seq LIMIT {SearchStatements.unindexedLimit}
        ) h
        WHERE h.kind = {ChangeKind.messageEdited}
     ) h
     JOIN store.messages m ON m.slot = s.slot AND m.conversation_id = s.conversation_id AND m.id = h.message_id
     WHERE m.seq <= s.indexed_seq AND m.seq BETWEEN s.first_seq AND s.last_seq AND ((
        SELECT true FROM store.search_blocks b
        WHERE b.slot = s.slot AND b.conversation_id = s.conversation_id
          AND b.block = m.seq / {SearchBlock.positions} AND m.seq = ANY (b.seqs)
        LIMIT 1
     ) IS NULL OR NOT {is_as_of(slot => s.slot, conversation => s.conversation_id, seq => m.seq, position => s.position)}))
) m
CROSS JOIN LATERAL (SELECT {text_as_of(slot => m.slot, row => m, position => s.position)} AS body OFFSET 0) t
WHERE m.body IS NOT NULL AND m.kind <> {MessageKind.sealed} AND (m.created_at, s.conversation_id, m.seq) < (:before_at, :before_conversation, :before_seq)
  AND {is_not_hidden(slot => s.slot, conversation => s.conversation_id, seq => m.seq)}
  AND (m.attachments IS NOT NULL OR octet_length(t.body) > char_length(t.body)
       OR lower(replace(t.body, '''', '') COLLATE "C") LIKE ALL (:ascii_patterns))
ORDER BY place LIMIT {SearchStatements.unindexedLimit}
