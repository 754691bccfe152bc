-- parley: no transaction
-- parley: compatible from 11
-- owner: store

-- What users have written and not sent. In the inbox, as marks are: a list of conversations reads it with the rows that it reads
-- anyway, and who is erased leaves nothing of it.
ALTER TABLE store.inbox ADD COLUMN IF NOT EXISTS draft_text text COLLATE "C";  -- NULL: there is none, as in the following.
ALTER TABLE store.inbox ADD COLUMN IF NOT EXISTS draft_reply_id uuid;
ALTER TABLE store.inbox ADD COLUMN IF NOT EXISTS draft_at timestamptz;
ALTER TABLE store.inbox ADD COLUMN IF NOT EXISTS draft_useq bigint;            -- The private change that told of it.
-- Beside the text, so that to go on writing changes nothing that an index has.
ALTER TABLE store.inbox ADD COLUMN IF NOT EXISTS has_draft boolean NOT NULL DEFAULT false;
-- Statistics would keep texts of users who are erased.
ALTER TABLE store.inbox ALTER COLUMN draft_text SET STATISTICS 0;
-- Counts the drafts of a user.
CREATE INDEX CONCURRENTLY IF NOT EXISTS inbox_drafts ON store.inbox (user_id, user_slot) WHERE has_draft;

-- 14: a draft. Not validated, as in 0014.
ALTER TABLE store.user_changes DROP CONSTRAINT IF EXISTS user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 14) NOT VALID;
