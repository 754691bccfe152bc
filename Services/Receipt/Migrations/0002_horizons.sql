-- owner: receipt
-- Receipts as horizons with times: what a user has is everything up to a position, and each advance is one row, whatever
-- number of messages it passes. User names are compared by bytes (collation "C"), as the services do.

-- The position of a conversation's status stream. Its row is the lock under which horizons move.
CREATE TABLE receipt.positions (
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid        NOT NULL,
    status_version  bigint      NOT NULL DEFAULT 0 CHECK (status_version >= 0),
    last_at         timestamptz NOT NULL DEFAULT '-infinity',  -- Times never decrease along the versions.
    PRIMARY KEY (conversation_id, slot)
) WITH (fillfactor = 50);  -- Updated by every commit: room for HOT updates.

-- How far each user is. Who has read has received.
CREATE TABLE receipt.horizons (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    delivered_seq   bigint   NOT NULL,
    read_seq        bigint   NOT NULL CHECK (read_seq >= 0),
    version         bigint   NOT NULL CHECK (version > 0),  -- The status version of the last advance.
    PRIMARY KEY (conversation_id, user_id, slot),
    CHECK (delivered_seq >= read_seq)
) WITH (fillfactor = 70);

-- Who got to which position when: gives the time at which each message was delivered to, and read by, each member.
CREATE TABLE receipt.receipt_runs (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    user_id         text        COLLATE "C" NOT NULL,
    kind            smallint    NOT NULL CHECK (kind IN (1, 2)),  -- 1 delivered, 2 read
    from_seq        bigint      NOT NULL CHECK (from_seq > 0),
    to_seq          bigint      NOT NULL CHECK (to_seq >= from_seq),
    at              timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, user_id, kind, to_seq, slot)
);
