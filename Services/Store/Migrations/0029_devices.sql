-- parley: compatible from 11
-- owner: store

-- The devices on which users have begun sessions, as their tokens name them (claim dev).
CREATE TABLE store.devices (
    user_slot smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id   text        COLLATE "C" NOT NULL,
    device    text        COLLATE "C" NOT NULL CHECK (octet_length(device) BETWEEN 1 AND 128),
    first_at  timestamptz NOT NULL,
    last_at   timestamptz NOT NULL,
    PRIMARY KEY (user_id, device, user_slot)
);

-- Up to when tokens of a device, or of all but it, are refused. Numbers are common with store.revocations.
-- (Executables that do not know the table go on accepting such tokens.)
CREATE TABLE store.device_revocations (
    user_slot  smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id    text        COLLATE "C" NOT NULL,
    device     text        COLLATE "C" NOT NULL CHECK (octet_length(device) BETWEEN 1 AND 128),
    is_all_but boolean     NOT NULL,
    number     bigint      NOT NULL CHECK (number > 0),
    before     timestamptz NOT NULL,
    PRIMARY KEY (user_id, device, is_all_but, user_slot),
    UNIQUE (user_slot, number)
);
