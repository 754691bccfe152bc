-- A page of the notes of a slot.
--
-- :slot               smallint
-- :after_conversation uuid      the last note of the page before
-- :after_number       bigint
-- :limit              bigint
--
-- > conversation_id uuid
-- > noted_by        bigint
SELECT n.conversation_id, n.noted_by FROM {notes} n
WHERE n.slot = :slot AND (n.conversation_id, n.noted_by) > (:after_conversation, :after_number)
ORDER BY n.conversation_id, n.noted_by LIMIT :limit
