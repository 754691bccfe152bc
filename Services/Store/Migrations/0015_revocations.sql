-- parley: compatible from 11
-- owner: store
-- Up to when the tokens of users are refused. A user's row stays, and only moves forward.

CREATE TABLE store.revocations (
    user_slot smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id   text        COLLATE "C" NOT NULL,
    number    bigint      NOT NULL CHECK (number > 0),  -- The last of the slot when it moved: what ingest and fanout ask by.
    before    timestamptz NOT NULL,
    PRIMARY KEY (user_id, user_slot),
    UNIQUE (user_slot, number)
);
