-- parley: compatible from 11
-- owner: store

-- Where a message was pinned, by whom and when. NULL: it is not.
ALTER TABLE store.messages ADD COLUMN pinned_seq bigint, ADD COLUMN pinned_by text COLLATE "C", ADD COLUMN pinned_at timestamptz;
