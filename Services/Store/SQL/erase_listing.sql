-- Removes a conversation from the list of a user, or from what the user is asked about.
--
-- :user_slot    smallint
-- :user         text
-- :conversation uuid
--
-- > next bigint    0: nothing is left
WITH unlisted AS (
    DELETE FROM store.inbox i WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = :conversation
), no_shadow AS (
    DELETE FROM store.shadow_listings l
    WHERE l.user_slot = :user_slot AND l.user_id = :user AND l.conversation_id = :conversation
), no_request AS (
    DELETE FROM store.requests r
    WHERE r.user_slot = :user_slot AND r.user_id = :user AND r.conversation_id = :conversation
)
SELECT 0::bigint AS next
