-- The position up to which a reader sees a conversation: for a present member the highest possible one, for a former member
-- the end of the last stay. NULL if the reader never was a member.
--
-- :slot
-- :conversation
-- :reader
(SELECT max(coalesce(e.left_seq, {Int64.max})) FROM store.memberships e
 WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.user_id = :reader)
