-- On Citus: the other members of those of some conversations that are direct, the latest activity first.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :user          text
--
-- > user_id text
-- > last_at timestamptz
SELECT m.user_id, c.last_at FROM unnest(:slots, :conversations) AS i (slot, conversation_id)
JOIN store.published_conversations c
    ON c.slot = i.slot AND c.id = i.conversation_id AND c.kind = {ConversationKind.direct}
JOIN store.published_memberships m
    ON m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id <> :user AND m.left_seq IS NULL
ORDER BY c.last_at DESC LIMIT {LastSeenStatements.peersLimit}
