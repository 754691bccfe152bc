-- parley: compatible from 11
-- owner: store

-- Who was removed from a group by somebody else, until an owner or admin lifts it. Who did it, and when, is in the change.
-- (Executables that do not know the table let every member bring them back.)
CREATE TABLE store.bans (
    slot            smallint NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    seq             bigint   NOT NULL CHECK (seq > 0),  -- Of the removal.
    PRIMARY KEY (conversation_id, user_id, slot)
);
