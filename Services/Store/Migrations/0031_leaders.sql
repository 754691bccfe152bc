-- owner: store
-- parley: no transaction
-- parley: compatible from 11
-- Who leads a group (not 1 member), by how long they have been there: whether there is another owner, and which admin is next.

CREATE INDEX CONCURRENTLY IF NOT EXISTS memberships_leaders
    ON store.memberships (conversation_id, role, joined_seq, user_id, slot) WHERE left_seq IS NULL AND role <> 1;
