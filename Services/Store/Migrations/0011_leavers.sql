-- owner: store
-- Who left since a message was sent: they are among its recipients.
CREATE INDEX memberships_left ON store.memberships (conversation_id, left_seq, slot) WHERE left_seq IS NOT NULL;
