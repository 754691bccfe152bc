-- parley: compatible from 11
-- owner: store

-- What messages carry: a JSON array of what `media` says of each file, byte for byte. NULL: nothing, or deleted for everyone.
-- Beside attachments `body` may be empty, which stands for no text.
ALTER TABLE store.messages ADD COLUMN attachments text;
-- The planner's statistics would keep copies of the names of files.
ALTER TABLE store.messages ALTER COLUMN attachments SET STATISTICS 0;

-- Messages that have lost their attachments, which `media` is to be told. A row stays until `media` has acknowledged it.
CREATE TABLE store.media_releases (
    slot            smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid     NOT NULL,
    message_id      uuid     NOT NULL,
    sender_id       text     COLLATE "C" NOT NULL,
    media           text     NOT NULL,  -- Ids with commas between them.
    PRIMARY KEY (slot, conversation_id, message_id)
);
