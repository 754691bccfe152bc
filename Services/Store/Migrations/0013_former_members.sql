-- owner: store
-- parley: no transaction
-- parley: compatible from 11
-- What a former member sees of members and roles is that of when they left: as changes note, or found by what changed since.

-- What was deleted for everyone of what a former member sees.
CREATE INDEX CONCURRENTLY IF NOT EXISTS changes_deletions ON store.changes (conversation_id, about_seq, seq, slot) WHERE kind = 3;
-- How many joined since, where the removal does not tell (6 member.added).
CREATE INDEX CONCURRENTLY IF NOT EXISTS changes_joins ON store.changes (conversation_id, seq, slot) WHERE kind = 6;
-- The next role of a member (10 member.changed) tells the one before.
CREATE INDEX CONCURRENTLY IF NOT EXISTS changes_roles ON store.changes (conversation_id, user_id, seq, slot) WHERE kind = 10;
