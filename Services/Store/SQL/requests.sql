-- The requests that a user is shown, the latest first. Who brought the user in is named by the change that the stay begins with,
-- which is looked up in the conversation's slot: it fans out over slots.
--
-- :user      text
-- :user_slot smallint
--
-- > conversation_id uuid
-- > at              timestamptz
-- > actor_id        text        or NULL, where no change begins the stay
SELECT r.conversation_id, r.at, h.actor_id FROM ({shown_requests}) r
LEFT JOIN LATERAL (
    SELECT h.actor_id FROM store.memberships s
    JOIN store.changes h ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.seq = s.joined_seq
        AND (h.kind = {ChangeKind.conversationCreated} OR h.kind = {ChangeKind.memberAdded} AND h.user_id = :user)
    WHERE s.slot = r.slot AND s.conversation_id = r.conversation_id AND s.user_id = :user AND s.left_seq = {RequestsStatement.end}
    OFFSET 0
) h ON true
ORDER BY r.at DESC, r.conversation_id DESC
