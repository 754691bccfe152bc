-- Whether a reader sees the message `m` of the range `i`.
--
-- :reader
(SELECT true FROM store.memberships s
 WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = :reader
   AND m.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, m.seq) LIMIT 1)
AND {is_not_hidden(slot => i.slot, conversation => i.conversation_id, seq => m.seq)}
