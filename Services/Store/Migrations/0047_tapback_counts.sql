-- parley: compatible from 11
-- owner: store

-- How many tapbacks of each kind a message has that has more than are named, so that not all of them are counted for each
-- write and each reader: {"like": 40, "😀": 2}. NULL: its rows of `tapbacks` are counted. They hold where `tapback_count` is
-- still `tapbacks_counted` and no row is of after `tapbacks_seq`: stores that do not know these columns leave them behind.
ALTER TABLE store.messages ADD COLUMN tapback_counts jsonb;
ALTER TABLE store.messages ADD COLUMN tapbacks_counted integer;
ALTER TABLE store.messages ADD COLUMN tapbacks_seq bigint;
