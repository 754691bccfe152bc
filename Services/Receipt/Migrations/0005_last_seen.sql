-- owner: receipt
-- When users were last online, to the minute, by the clock of this database. Written only while they show it.
CREATE TABLE receipt.last_seen (
    user_slot smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id   text        COLLATE "C" NOT NULL,
    seen_at   timestamptz NOT NULL,
    PRIMARY KEY (user_id, user_slot)
) WITH (fillfactor = 70);
