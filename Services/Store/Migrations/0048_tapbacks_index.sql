-- owner: store
-- parley: no transaction
-- parley: compatible from 11
-- The tapbacks on a message in their order: the first are shown, and the last tells whether the counts beside it hold.

CREATE INDEX CONCURRENTLY IF NOT EXISTS tapbacks_in_order
    ON store.tapbacks (conversation_id, message_id, seq, slot);
