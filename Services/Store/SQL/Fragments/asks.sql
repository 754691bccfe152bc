-- Whether a user who is brought into a conversation is asked first: by the option or by the application's word, if they do not know
-- who brings them, and have not been in the conversation before. Who declined by its word is asked, too, and does not hear of it.
-- One knows whose direct conversation is in one's inbox: one has opened it, accepted it or
-- written in it, or it is older than the option.
--
-- :user_slot
-- :user
-- :conversation
-- :direct         the direct conversation of the two
-- :consent        Consent
CASE :consent WHEN {Consent.given} THEN false WHEN {Consent.asked} THEN NOT EXISTS (
    SELECT FROM store.inbox i
    WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id IN (:conversation, :direct)) ELSE true END
