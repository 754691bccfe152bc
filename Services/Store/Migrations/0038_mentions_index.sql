-- owner: store
-- parley: no transaction
-- parley: compatible from 11
-- The messages of a conversation that mention anybody, for counting the unread ones. Messages without mentions do not touch it.

CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_mentioning
    ON store.messages (conversation_id, seq, slot) WHERE mentions IS NOT NULL;
