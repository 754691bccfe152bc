-- owner: store
-- parley: no transaction
-- parley: compatible from 11
-- What is pinned in a conversation, by when.

CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_pinned
    ON store.messages (conversation_id, pinned_seq, slot) WHERE pinned_seq IS NOT NULL;
