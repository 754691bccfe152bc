-- parley: compatible from 11
-- owner: store

-- What users have reported to administrators. Nobody else learns of it.
-- (Executables that do not know the table leave the names of those whom they erase: see 0070.)
CREATE TABLE store.reports (
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid        NOT NULL,
    id              uuid        NOT NULL,  -- Chosen by the client: the key of a repetition.
    reporter_id     text        COLLATE "C",  -- NULL: erased.
    reason          smallint    NOT NULL CHECK (reason BETWEEN 1 AND 7),  -- ReportReason
    text            text        COLLATE "C",
    created_at      timestamptz NOT NULL,
    message_id      uuid,
    user_id         text        COLLATE "C",
    -- The message as its reporter saw it then. NULL: none is reported, or its sender was erased.
    sender_id       text        COLLATE "C",
    message_text    text        COLLATE "C",
    message_at      timestamptz,
    media           text        COLLATE "C",  -- Ids with commas between them.
    -- What was done about it.
    is_open         boolean     NOT NULL DEFAULT true,
    action          smallint    CHECK (action BETWEEN 1 AND 5),  -- ReportAction
    note            text        COLLATE "C",
    resolver_id     text        COLLATE "C",
    resolved_at     timestamptz,
    PRIMARY KEY (conversation_id, id, slot),
    CHECK (is_open = (action IS NULL) AND is_open = (resolver_id IS NULL) AND is_open = (resolved_at IS NULL))
);

-- The queue of a slot.
CREATE INDEX reports_queue ON store.reports (slot, is_open, created_at, conversation_id, id);
-- How many are open in a conversation, and of one reporter.
CREATE INDEX reports_open ON store.reports (conversation_id, reporter_id, slot) WHERE is_open;
-- What is kept no longer.
CREATE INDEX reports_resolved ON store.reports (slot, resolved_at) WHERE NOT is_open;

-- Texts of users do not go into the statistics.
ALTER TABLE store.reports ALTER COLUMN text SET STATISTICS 0;
ALTER TABLE store.reports ALTER COLUMN message_text SET STATISTICS 0;
ALTER TABLE store.reports ALTER COLUMN note SET STATISTICS 0;
