-- owner: store
-- Who serves which slot, and which history this database is.

-- One row. Clients keep `log_id` with their cursors; `parley restore` and every other restore of a backup changes it,
-- so that a client whose cursors come from a future that was lost starts anew.
CREATE TABLE store.deployment (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    log_id   uuid    NOT NULL DEFAULT gen_random_uuid()
);
INSERT INTO store.deployment DEFAULT VALUES;

-- Raised by each store that takes the slot over. Digests carry it: a lower one comes from a former owner.
CREATE TABLE store.slots (
    slot  smallint PRIMARY KEY CHECK (slot BETWEEN 0 AND 255),
    epoch bigint   NOT NULL DEFAULT 0
);
INSERT INTO store.slots (slot) SELECT generate_series(0, 255);

-- The heartbeat of every running store, by the clock of this database.
CREATE TABLE store.services (
    id      bigint      PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
