-- Ends what a user sees of a conversation in which they have been for reading alone so far, and are from another position on: of
-- such stays the last one counts.
--
-- :slot
-- :conversation
-- :user
-- :user_slot
-- :joined       SELECT of the position
DELETE FROM store.memberships s
WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.joined_seq < (:joined)
  AND NOT EXISTS (
    SELECT FROM store.inbox i
    WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = :conversation)
