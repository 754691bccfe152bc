-- Whether the message `m` is in a stay of the actor, behind what they cleared.
--
-- :slot
-- :conversation
-- :actor
(SELECT true FROM store.memberships s
 WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
   AND m.seq BETWEEN greatest(s.joined_seq, s.cleared_seq + 1) AND coalesce(s.left_seq, m.seq) LIMIT 1) IS NOT NULL
