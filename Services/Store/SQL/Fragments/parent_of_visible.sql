-- SELECT of the row `parent` of a reply `m`, where the reader sees it, with the CTE of {stays_of_reader}.
--
-- :slot
-- :conversation
-- :reader
SELECT p.sender_id, {shown_text(row => p, text => {text_as_of(row => p, position => {end_of_stays})})} AS body FROM store.messages p
WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.seq = m.reply_seq AND p.deleted_at IS NULL
  AND EXISTS (SELECT FROM stays s WHERE p.seq BETWEEN s.first_seq AND s.last_seq)
  AND {is_not_hidden(seq => p.seq)}
