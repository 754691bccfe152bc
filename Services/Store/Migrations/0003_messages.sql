-- owner: store
-- The feed of a conversation is the union of two tables over one dense `seq`: created messages and all other changes.

-- The order of the key columns measured best: with UUIDv7 both indexes append.
CREATE TABLE store.messages (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL CHECK (seq > 0),
    id              uuid        NOT NULL,
    changed_seq     bigint      NOT NULL CHECK (changed_seq >= seq),
    sender_id       text        COLLATE "C" NOT NULL,
    kind            smallint    NOT NULL CHECK (kind IN (1, 2, 3)),  -- 1 text, 2 reply, 3 system
    body            text,                                            -- NULL: system, or deleted for everyone
    reply_to        uuid,
    reply_seq       bigint,
    mentions        text[],
    sent_at         timestamptz NOT NULL,  -- The sender's clock, for display.
    created_at      timestamptz NOT NULL,
    edited_at       timestamptz,
    deleted_at      timestamptz,
    CHECK ((kind = 2) = (reply_to IS NOT NULL)),
    CHECK ((reply_to IS NULL) = (reply_seq IS NULL)),
    PRIMARY KEY (conversation_id, seq, slot),
    UNIQUE (id, conversation_id, slot)  -- The key of a repetition.
);
-- The planner's statistics would keep copies of deleted texts.
ALTER TABLE store.messages ALTER COLUMN body SET STATISTICS 0;
ALTER TABLE store.messages ALTER COLUMN mentions SET STATISTICS 0;

-- Every change but the creation of a message, without any message text: erasure has one place to go.
CREATE TABLE store.changes (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL CHECK (seq > 0),
    kind            smallint    NOT NULL CHECK (kind BETWEEN 2 AND 9),  -- ChangeKind in Shared/Wire
    actor_id        text        COLLATE "C" NOT NULL,
    at              timestamptz NOT NULL,
    message_id      uuid,
    user_id         text        COLLATE "C",
    role            smallint,
    title           text,
    PRIMARY KEY (conversation_id, seq, slot)
);
