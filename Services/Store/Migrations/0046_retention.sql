-- parley: compatible from 11
-- owner: store

-- The first position whose message is kept. NULL: all are.
ALTER TABLE store.conversations ADD COLUMN kept_from bigint;

-- 17: messages before `about_seq` were removed. Not validated, as in 0014.
ALTER TABLE store.changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE store.changes ADD CONSTRAINT changes_kind_check CHECK (kind BETWEEN 2 AND 17) NOT VALID;

-- Conversations whose messages stay for a time of their own.
CREATE TABLE store.retentions (
    slot            smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid     NOT NULL,
    days            integer  NOT NULL CHECK (days > 0),
    PRIMARY KEY (conversation_id, slot)
);
