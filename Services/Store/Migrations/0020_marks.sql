-- parley: compatible from 11
-- owner: store

-- What users keep to themselves about their conversations. Beside `told_read_seq`, so that a list of conversations reads it
-- with the rows that it reads anyway; a message that is sent touches none of it.
ALTER TABLE store.inbox ADD COLUMN muted_until timestamptz;   -- NULL: not muted. Its end may have passed.
ALTER TABLE store.inbox ADD COLUMN pin_order bigint;          -- NULL: not pinned. The lowest stands first.
ALTER TABLE store.inbox ADD COLUMN archived_seq bigint;       -- Archived with all that came up to here.
ALTER TABLE store.inbox ADD COLUMN marked_unread_seq bigint;  -- How far the user had read when they marked it as unread.

-- 8 muted, 9 pinned, 10 archived, 11 marked unread; 12 is for blocks. Not validated, as in 0014.
ALTER TABLE store.user_changes DROP CONSTRAINT user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 12) NOT VALID;
