-- owner: store
-- Finds where the next stay ends: what is replayed to all members shows each message as it was there at the latest.
CREATE INDEX changes_removals ON store.changes (conversation_id, seq, slot) WHERE kind = 7;
