-- When the peers in a user's direct conversations were last online, where both show it. Fans out over slots, like the list
-- of conversations.
--
-- :user      text
-- :user_slot smallint
--
-- > user_id text
-- > seen_at timestamptz
SELECT p.user_id, l.seen_at
FROM (
    -- The latest activity first.
    SELECT m.user_id FROM store.published_inbox i
    JOIN store.published_conversations c
        ON c.slot = i.slot AND c.id = i.conversation_id AND c.kind = {ConversationKind.direct}
    JOIN store.published_memberships m
        ON m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id <> :user AND m.left_seq IS NULL
    WHERE i.user_slot = :user_slot AND i.user_id = :user
    ORDER BY c.last_at DESC LIMIT {LastSeenStatements.peersLimit}
) p
JOIN receipt.last_seen l ON l.user_id = p.user_id
WHERE coalesce((SELECT s.presence FROM store.published_user_settings s
                WHERE s.user_id = l.user_id AND s.user_slot = l.user_slot), true)
  AND coalesce((SELECT s.presence FROM store.published_user_settings s
                WHERE s.user_id = :user AND s.user_slot = :user_slot), true)
