-- Conversations as their reader sees them, in no order. No row for one that the reader never was a member of.
--
-- :reader        text
-- :slots         smallint[]
-- :conversations uuid[]
--
-- > {listed_conversation}
WITH page AS (
    SELECT c.*, {shown_at(is_present => {is_present_member})} AS shown_at FROM unnest(:slots, :conversations) AS i (slot, conversation_id)
    CROSS JOIN LATERAL (
        SELECT c.* FROM store.conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id OFFSET 0
    ) c
)
{listed_conversation}
