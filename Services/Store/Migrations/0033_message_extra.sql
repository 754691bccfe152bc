-- parley: compatible from 11
-- owner: store

-- The application's own JSON in a message, byte for byte. NULL: none, or deleted for everyone.
ALTER TABLE store.messages ADD COLUMN extra text COLLATE "C";
-- The planner's statistics would keep copies of what was deleted.
ALTER TABLE store.messages ALTER COLUMN extra SET STATISTICS 0;

-- What is reported, too.
ALTER TABLE store.reports ADD COLUMN message_extra text COLLATE "C";
ALTER TABLE store.reports ALTER COLUMN message_extra SET STATISTICS 0;
