-- parley: compatible from 11
-- owner: store

-- What whoever has its code may join a group by. Of the code there is a hash alone. Who made it is a member: it goes when they go.
-- (Executables that do not know the table leave it when they take out a member: see 0066.)
CREATE TABLE store.invitations (
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid        NOT NULL,
    id              uuid        NOT NULL,  -- Chosen by the client: the key of a repetition.
    code_hash       uuid        NOT NULL,
    creator_id      text        COLLATE "C" NOT NULL,
    creator_slot    smallint    NOT NULL CHECK (creator_slot BETWEEN 0 AND 255),
    created_at      timestamptz NOT NULL,
    expires_at      timestamptz,
    max_uses        integer     CHECK (max_uses > 0),
    uses            integer     NOT NULL DEFAULT 0 CHECK (uses >= 0 AND uses <= max_uses),
    PRIMARY KEY (conversation_id, id, slot)
);
