-- parley: compatible from 11
-- owner: store

-- Users that an administrator has suspended. Numbers are common with store.revocations and store.device_revocations.
-- (Executables that do not know the table hold nobody up.)
CREATE TABLE store.suspensions (
    user_slot smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id   text        COLLATE "C" NOT NULL,
    number    bigint      NOT NULL CHECK (number > 0),
    mode      smallint    NOT NULL CHECK (mode BETWEEN 0 AND 2),  -- SuspensionMode; 0: it was lifted.
    since     timestamptz NOT NULL,
    until     timestamptz,  -- NULL: for ever; of one that was lifted: since then.
    reason    text        COLLATE "C",
    PRIMARY KEY (user_id, user_slot),
    UNIQUE (user_slot, number)
);

-- What is over is removed.
CREATE INDEX suspensions_until ON store.suspensions (user_slot, until);

-- Text of a user does not go into the statistics.
ALTER TABLE store.suspensions ALTER COLUMN reason SET STATISTICS 0;
