-- Whether a user who has no stay in the conversation has one in its open import. Only who is in it learns of the import.
--
-- :slot
-- :conversation
-- :user
(SELECT true FROM store.import_stays i
 WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.user_id = :user LIMIT 1) IS NOT NULL
