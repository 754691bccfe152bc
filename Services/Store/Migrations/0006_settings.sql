-- owner: store
-- What users decided about themselves, and what their devices were told of their reading.

-- Without a row everything has its default.
CREATE TABLE store.user_settings (
    user_slot     smallint NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id       text     COLLATE "C" NOT NULL,
    read_receipts boolean  NOT NULL DEFAULT true,  -- Others learn what this user has read.
    presence      boolean  NOT NULL DEFAULT true,  -- Others learn when this user is online, and this user of others.
    PRIMARY KEY (user_id, user_slot)
);

-- NULL, or without a row: as the user's setting says.
CREATE TABLE store.conversation_settings (
    slot            smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    read_receipts   boolean,
    PRIMARY KEY (conversation_id, user_id, slot)
);

-- How far the user's devices were told that the user has read: `read.moved` goes only beyond it.
ALTER TABLE store.inbox ADD COLUMN told_read_seq bigint NOT NULL DEFAULT 0;
ALTER TABLE store.inbox SET (fillfactor = 70);  -- Now updated: room for HOT updates.
