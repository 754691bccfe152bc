-- owner: store
-- parley: no transaction
-- parley: compatible from 11

-- Of a forwarded message: who wrote it and when, where its sender says so, and a digest of what its sender named, by which a repetition
-- is known.
ALTER TABLE store.messages
    ADD COLUMN IF NOT EXISTS forwarded_by text COLLATE "C",
    ADD COLUMN IF NOT EXISTS forwarded_at timestamptz,
    ADD COLUMN IF NOT EXISTS forward_of bytea;

-- By it the erasure of a user finds the messages that name them. Others do not touch it.
CREATE INDEX CONCURRENTLY IF NOT EXISTS messages_forwarded
    ON store.messages (forwarded_by, conversation_id, seq, slot) WHERE forwarded_by IS NOT NULL;
