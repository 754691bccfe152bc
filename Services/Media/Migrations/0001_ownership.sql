-- owner: media
-- Who serves which slot. As in the schema `store`.

-- Raised by each media service that takes the slot over.
CREATE TABLE media.slots (
    slot        smallint PRIMARY KEY CHECK (slot BETWEEN 0 AND 255),
    epoch       bigint   NOT NULL DEFAULT 0,
    -- Of services that note their work (`WorkNotes` in Shared/Slots); this one looks at what is due instead.
    noted_epoch bigint   NOT NULL DEFAULT -1
);
INSERT INTO media.slots (slot) SELECT generate_series(0, 255);

-- The heartbeat of every running media service, by the clock of this database.
CREATE TABLE media.services (
    id      bigint      PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
