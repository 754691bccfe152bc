-- parley: compatible from 11
-- owner: store

-- What administrators did, in the order in which it was recorded, all of it in one slot. No text of a user's is in it. The service
-- adds rows, and notes the status of each once: deploy/database/store_owner.sql gives it no right to anything else.
CREATE TABLE store.acts (
    slot             smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    number           bigint      NOT NULL CHECK (number > 0),
    id               uuid        NOT NULL,  -- Of the request that recorded it, for its repetitions.
    at               timestamptz NOT NULL,
    administrator_id text        COLLATE "C" NOT NULL,
    user_id          text        COLLATE "C",  -- For whom.
    call             text        COLLATE "C" NOT NULL,
    conversation_id  uuid,
    target           text        COLLATE "C",
    detail           text        COLLATE "C",
    status           smallint,  -- NULL: not noted.
    PRIMARY KEY (number, slot),
    UNIQUE (id, slot)
);
