-- The time of the removal at a position, the end of a former member's view. NULL for a present member.
--
-- :slot
-- :conversation
-- :position
(SELECT e.at FROM store.changes e
 WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.seq = :position)
