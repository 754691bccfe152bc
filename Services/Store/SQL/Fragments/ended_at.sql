-- The time of the removal at a position, the end of a former member's view, or when the reader closed the stay there. NULL for
-- a present member.
--
-- :slot
-- :conversation
-- :reader
-- :position
coalesce(
    (SELECT o.left_at FROM store.memberships o
     WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.user_id = :reader AND o.left_seq = :position),
    (SELECT e.at FROM store.changes e
     WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.seq = :position))
