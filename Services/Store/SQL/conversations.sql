-- Conversations as their reader sees them, in no order. No row for one that the reader never was a member of.
--
-- :reader        text
-- :reader_slot   smallint
-- :slots         smallint[]
-- :conversations uuid[]
--
-- > {listed_conversation}
WITH page AS (
    SELECT c.*, {marks_of_listing}, {shown_at(is_present => {is_present_member})} AS shown_at FROM unnest(:slots, :conversations) AS n (slot, conversation_id)
    CROSS JOIN LATERAL (
        SELECT c.* FROM store.conversations c WHERE c.slot = n.slot AND c.id = n.conversation_id OFFSET 0
    ) c
    LEFT JOIN LATERAL (
        SELECT {marks_of_listing} FROM store.inbox i
        WHERE i.user_slot = :reader_slot AND i.user_id = :reader AND i.conversation_id = n.conversation_id OFFSET 0
    ) i ON true
)
{listed_conversation}
