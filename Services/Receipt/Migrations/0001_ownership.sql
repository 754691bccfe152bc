-- owner: receipt
-- Who serves which slot. As in the schema `store`.

-- Raised by each receipt service that takes the slot over. Digests carry it: a lower one comes from a former owner.
CREATE TABLE receipt.slots (
    slot  smallint PRIMARY KEY CHECK (slot BETWEEN 0 AND 255),
    epoch bigint   NOT NULL DEFAULT 0
);
INSERT INTO receipt.slots (slot) SELECT generate_series(0, 255);

-- The heartbeat of every running receipt service, by the clock of this database.
CREATE TABLE receipt.services (
    id      bigint      PRIMARY KEY,
    seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
