-- A page of a user's list of conversations, latest activity first. It reads the inbox, which names the user's slot, and then
-- the conversations in their own slots: one of the few statements that fan out over slots.
--
-- :reader              text
-- :reader_slot         smallint
-- :before_at           timestamptz    the last activity of the last conversation of the page before
-- :before_conversation uuid
-- :limit               bigint
--
-- > {member_conversation}
WITH page AS (
    SELECT * FROM (
        SELECT c.*, s.*, {marks_of_listing}, {shown_at(is_present => s.joined_seq IS NOT NULL)} AS shown_at FROM (
            -- In the order of the ids, each conversation looked up from it. Otherwise the planner scans all conversations
            -- whenever it expects long inboxes.
            SELECT i.slot, i.conversation_id, {marks_of_listing} FROM store.inbox i
            WHERE i.user_slot = :reader_slot AND i.user_id = :reader AND {is_shown_in_list(user => :reader)}
            ORDER BY i.conversation_id OFFSET 0
        ) i
        CROSS JOIN LATERAL (
            SELECT c.* FROM store.conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id OFFSET 0
        ) c
        LEFT JOIN LATERAL ({present_stay}) s ON true
        OFFSET 0
    ) c
    WHERE (c.shown_at, c.id) < (:before_at, :before_conversation)
    ORDER BY c.shown_at DESC, c.id DESC LIMIT :limit
)
{member_conversation}
ORDER BY c.shown_at DESC, c.id DESC
