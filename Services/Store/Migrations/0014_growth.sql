-- owner: store
-- parley: compatible from 11
-- What bounds what grows, and what a store that takes slots over has to look at.

-- 7: a conversation went from the user's list. Not validated, which would read the whole table: all rows of before have
-- the kinds of before.
ALTER TABLE store.user_changes DROP CONSTRAINT user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 7) NOT VALID;

-- The user has left the conversation and does not want to see it in the list. Being added again brings it back. The row
-- stays: by it a user's messages are found when the user is erased.
ALTER TABLE store.inbox ADD COLUMN is_removed boolean NOT NULL DEFAULT false;

-- How many of the user's conversations are so, which is bounded: every start reads them.
ALTER TABLE store.user_streams ADD COLUMN unlisted_count integer NOT NULL DEFAULT 0;

-- Counts what one user has deleted in a conversation before it came. Without honest reason the table is all but empty.
CREATE INDEX early_deletions_of_user ON store.early_deletions (conversation_id, user_id, slot);

-- Conversations with something that may not be in the index of the search yet (`WorkNotes` in Shared/Slots). A row is
-- written in the transaction that moves a conversation which its writer has not noted, and goes a while after the
-- conversation came to rest. `noted_by` is another number for every writer, and every time it begins anew.
CREATE TABLE store.unindexed (
    slot            smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid     NOT NULL,
    noted_by        bigint   NOT NULL,
    PRIMARY KEY (slot, conversation_id, noted_by)
);
-- Where it is the epoch of the slot, everything is indexed or noted. Owners of older versions note nothing, and leave it
-- behind.
ALTER TABLE store.slots ADD COLUMN noted_epoch bigint NOT NULL DEFAULT -1;
