-- owner: store
-- Users whose everything was erased, or is being. A row stays for ever: its user can do nothing any more.

CREATE TABLE store.erasures (
    user_slot       smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id         text        COLLATE "C" NOT NULL,
    number          bigint      NOT NULL CHECK (number > 0),  -- Dense in the slot: what ingest and fanout ask by.
    requested_at    timestamptz NOT NULL,
    erased_at       timestamptz,                              -- NULL: it is under way
    -- What was erased so far, counted by the transactions that erased it.
    messages        bigint      NOT NULL DEFAULT 0,
    revisions       bigint      NOT NULL DEFAULT 0,
    tapbacks        bigint      NOT NULL DEFAULT 0,
    mentions        bigint      NOT NULL DEFAULT 0,
    receipts        bigint      NOT NULL DEFAULT 0,
    memberships     bigint      NOT NULL DEFAULT 0,
    hidden          bigint      NOT NULL DEFAULT 0,
    private_changes bigint      NOT NULL DEFAULT 0,
    outcomes        bigint      NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, user_slot),
    UNIQUE (user_slot, number)
) WITH (fillfactor = 50);  -- Updated by every step: room for HOT updates.

CREATE INDEX erasures_under_way ON store.erasures (user_slot) WHERE erased_at IS NULL;

-- Finds who mentions an erased user. Messages without mentions do not touch it.
CREATE INDEX messages_mentions ON store.messages USING gin (mentions) WHERE mentions IS NOT NULL;
