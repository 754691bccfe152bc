-- parley: compatible from 11
-- owner: store

-- Where a message was pinned, by whom and when. NULL: it is not.
ALTER TABLE store.messages ADD COLUMN pinned_seq bigint, ADD COLUMN pinned_by text COLLATE "C", ADD COLUMN pinned_at timestamptz;

-- 12 and 13: a message was pinned, or taken down. Not validated, as in 0014.
ALTER TABLE store.changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE store.changes ADD CONSTRAINT changes_kind_check CHECK (kind BETWEEN 2 AND 13) NOT VALID;
