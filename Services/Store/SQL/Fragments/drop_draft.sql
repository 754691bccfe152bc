-- CTE: what a user has written in a conversation and not sent goes with their stay. What they are told of that tells it, too.
--
-- :conversation
-- :user
-- :user_slot
-- :source       one row if the stay ends
no_draft AS (
    UPDATE store.inbox i
    SET has_draft = false, draft_text = NULL, draft_reply_id = NULL, draft_at = NULL, draft_useq = NULL
    FROM :source AS ended
    WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = :conversation AND i.has_draft
)
