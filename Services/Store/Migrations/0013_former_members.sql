-- owner: store
-- parley: no transaction
-- parley: compatible from 11
-- What a former member sees of members and roles is that of when they left: found by what changed since.

-- How many joined since, and what was deleted for everyone (3 message.deleted, 6 member.added).
CREATE INDEX CONCURRENTLY IF NOT EXISTS changes_since ON store.changes (conversation_id, kind, seq, slot) WHERE kind IN (3, 6);
-- The next role of a member (10 member.changed) tells the one before.
CREATE INDEX CONCURRENTLY IF NOT EXISTS changes_roles ON store.changes (conversation_id, user_id, seq, slot) WHERE kind = 10;
