-- parley: compatible from 11
-- owner: store

-- 5: a poll. `body` is then its question. Not validated, as in 0014.
ALTER TABLE store.messages DROP CONSTRAINT messages_kind_check;
ALTER TABLE store.messages ADD CONSTRAINT messages_kind_check CHECK (kind BETWEEN 1 AND 5) NOT VALID;

-- 15: somebody voted, or withdrew their vote; 16: a poll was closed.
ALTER TABLE store.changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE store.changes ADD CONSTRAINT changes_kind_check CHECK (kind BETWEEN 2 AND 16) NOT VALID;

-- What belongs to a message that is a poll. The counts are those of all rows of `votes`, so that nobody has to count them.
CREATE TABLE store.polls (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    options         text[]      COLLATE "C" NOT NULL CHECK (cardinality(options) BETWEEN 2 AND 12),
    is_multiple     boolean     NOT NULL,
    counts          integer[]   NOT NULL CHECK (cardinality(counts) = cardinality(options) AND 0 <= ALL (counts)),
    voters          integer     NOT NULL CHECK (voters >= 0),
    closed_seq      bigint,
    closed_at       timestamptz CHECK ((closed_at IS NULL) = (closed_seq IS NULL)),
    PRIMARY KEY (conversation_id, message_id, slot)
);

-- What users write does not go into the statistics.
ALTER TABLE store.polls ALTER COLUMN options SET STATISTICS 0;

-- A bit for each option that the user has chosen, the lowest for the first. Who has chosen none has no row.
CREATE TABLE store.votes (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    user_id         text        COLLATE "C" NOT NULL,
    options         smallint    NOT NULL CHECK (options > 0),
    at              timestamptz NOT NULL,
    seq             bigint      NOT NULL,
    PRIMARY KEY (conversation_id, message_id, user_id, slot)
);

-- What a report keeps of a poll: its options, a line for each.
ALTER TABLE store.reports ADD COLUMN message_options text COLLATE "C";
ALTER TABLE store.reports ALTER COLUMN message_options SET STATISTICS 0;

-- Of votes that an erasure took back.
ALTER TABLE store.erasures ADD COLUMN votes bigint NOT NULL DEFAULT 0;
