-- parley: compatible from 11
-- owner: store

-- Messages that are kept until their time, and those that could not be sent then. In the slot of their author, who alone sees them:
-- what becomes of one is decided with the author's stream locked.
CREATE TABLE store.scheduled (
    user_slot       smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id         text        COLLATE "C" NOT NULL,
    conversation_id uuid        NOT NULL,
    message_id      uuid        NOT NULL,  -- Of the message that it becomes.
    at              timestamptz NOT NULL,
    body            text        COLLATE "C" NOT NULL,
    reply_to        uuid,
    mentions        text        COLLATE "C",  -- As the bus has them.
    extra           text        COLLATE "C",
    useq            bigint      NOT NULL,  -- The private change that told of it as it is.
    problem         smallint,              -- Why it was not sent. NULL: it waits.
    failed_at       timestamptz,
    PRIMARY KEY (user_id, conversation_id, message_id, user_slot)
);

CREATE INDEX scheduled_due ON store.scheduled (user_slot, at) WHERE problem IS NULL;

-- What users write does not go into the statistics.
ALTER TABLE store.scheduled ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE store.scheduled ALTER COLUMN mentions SET STATISTICS 0;
ALTER TABLE store.scheduled ALTER COLUMN extra SET STATISTICS 0;

-- 17: a scheduled message. Not validated, as in 0014.
ALTER TABLE store.user_changes DROP CONSTRAINT user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 17) NOT VALID;
