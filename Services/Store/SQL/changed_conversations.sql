-- For `sync`, a page of a user's conversations, by id, that a transaction or a later one changed. A row older than half the
-- number space of transactions looks new, which only means that it is sent again. Fans out over slots like
-- list_conversations.
--
-- For a former member a conversation changes only when their stay changes, or when a message they see is deleted for
-- everyone. They must not learn that anything else happens there.
--
-- :reader      text
-- :reader_slot smallint
-- :transaction bigint      0: all conversations
-- :after       uuid        the last conversation of the page before
-- :limit       bigint
--
-- > {member_conversation}
WITH page AS (
    SELECT c.*, s.*, {marks_of_listing}, {shown_at(is_present => s.joined_seq IS NOT NULL)} AS shown_at FROM (
        -- As in list_conversations.
        SELECT i.slot, i.conversation_id, {marks_of_listing} FROM store.inbox i
        WHERE i.user_slot = :reader_slot AND i.user_id = :reader AND {is_shown_in_list(user => :reader)}
          AND i.conversation_id > :after
        ORDER BY i.conversation_id OFFSET 0
    ) i
    CROSS JOIN LATERAL (
        SELECT c.* FROM store.conversations c
        WHERE c.slot = i.slot AND c.id = i.conversation_id AND (
            :transaction = 0 OR ({is_recent(xmin => c.xmin)} AND ({is_present_member} OR (
                -- Whether their stay ended, or a message they see was deleted for everyone. Executables that did not note
                -- the position of a deletion left it in the message only.
                SELECT true FROM store.memberships o
                WHERE o.slot = c.slot AND o.conversation_id = c.id AND o.user_id = :reader
                  AND ({is_recent(xmin => o.xmin)}
                    OR (SELECT true {recent_deletions} AND h.about_seq BETWEEN o.joined_seq AND o.left_seq
                        LIMIT 1) IS NOT NULL
                    OR (SELECT true {recent_deletions} AND h.about_seq IS NULL AND (
                        SELECT m.seq BETWEEN o.joined_seq AND o.left_seq FROM store.messages m
                        WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.id = h.message_id) LIMIT 1) IS NOT NULL)
                LIMIT 1) IS NOT NULL)))
        OFFSET 0
    ) c
    LEFT JOIN LATERAL ({present_stay}) s ON true
    ORDER BY i.conversation_id LIMIT :limit
)
{member_conversation}
ORDER BY c.id
