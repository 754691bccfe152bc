-- owner: store
-- parley: compatible from 11
-- What makes a write happen once that came without an Idempotency-Key, how many conversations a user has, and what changes
-- note for those who have left.

-- What became of each such write, by its request on the bus, which may come again a while after its answer. Kept for that
-- while, by `RecentOutcomes`; of no user, so an erasure has nothing to look for.
CREATE TABLE store.recent_outcomes (
    slot    smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    request uuid        NOT NULL,  -- Who asked, and the number of the request there.
    problem smallint    NOT NULL,  -- As in `outcomes`.
    at      timestamptz NOT NULL,
    PRIMARY KEY (request, slot)
);
CREATE INDEX recent_outcomes_age ON store.recent_outcomes (slot, at);

-- Streams are locked before they are written to, and a row that is not there yet cannot be locked: so it begins at 0.
-- Not validated, which would read the table under its lock: what is there passed a stricter check.
ALTER TABLE store.user_streams DROP CONSTRAINT user_streams_last_useq_check;
ALTER TABLE store.user_streams ADD CONSTRAINT user_streams_last_useq_check CHECK (last_useq >= 0) NOT VALID;

-- The user's rows in `inbox`. Whoever adds or removes one counts it here, under the lock of this row. NULL: not counted
-- yet; the next one who needs the number counts.
ALTER TABLE store.user_streams ADD COLUMN conversation_count integer;

-- How many members there are behind it (7 member.removed). NULL, also of removals by executables of before: not noted.
ALTER TABLE store.changes ADD COLUMN member_count integer;
-- The position of the message (3 message.deleted). NULL, also of deletions by executables of before: not noted.
ALTER TABLE store.changes ADD COLUMN about_seq bigint;
