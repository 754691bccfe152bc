-- SELECT of the row `parent` of a reply `m`, where the reader sees it.
--
-- :slot
-- :reader
-- :position
SELECT p.sender_id, {shown_text(row => p, text => {text_as_of(row => p)})} AS body FROM store.messages p
WHERE p.slot = :slot AND p.conversation_id = m.conversation_id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
  AND EXISTS (SELECT FROM store.memberships s
              WHERE s.slot = :slot AND s.conversation_id = m.conversation_id AND s.user_id = :reader
                AND p.seq BETWEEN greatest(s.joined_seq, s.cleared_seq + 1) AND coalesce(s.left_seq, p.seq))
  AND {is_not_hidden(conversation => m.conversation_id, seq => p.seq)}
