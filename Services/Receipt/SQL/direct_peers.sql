-- On Citus: the other members of those of some conversations that are direct, the latest activity first.
--
-- :slots         smallint[]
-- :conversations uuid[]
-- :user          text
--
-- > user_id text
-- > last_at timestamptz
SELECT m.user_id, c.last_at FROM unnest(:slots, :conversations) AS i (slot, conversation_id)
-- Each looked up on its own (OFFSET 0): the planner might go through all that there are.
CROSS JOIN LATERAL (
    SELECT c.last_at FROM store.published_conversations c
    WHERE c.slot = i.slot AND c.id = i.conversation_id AND c.kind = {ConversationKind.direct} OFFSET 0
) c
CROSS JOIN LATERAL (
    SELECT m.user_id FROM store.published_memberships m
    WHERE m.slot = i.slot AND m.conversation_id = i.conversation_id AND m.user_id <> :user AND m.left_seq IS NULL OFFSET 0
) m
ORDER BY c.last_at DESC LIMIT {LastSeenStatements.peersLimit}
