-- owner: store
-- What happens to messages and members after they came.

-- Rows of `tapbacks` for this message, so that a page of messages without any looks for none.
ALTER TABLE store.messages ADD COLUMN tapback_count integer NOT NULL DEFAULT 0 CHECK (tapback_count >= 0);

-- 10: a member's role changed.
ALTER TABLE store.changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE store.changes ADD CONSTRAINT changes_kind_check CHECK (kind BETWEEN 2 AND 10);

-- The texts a message had before its present one, by the change that replaced them.
CREATE TABLE store.revisions (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    replaced_seq    bigint      NOT NULL,
    body            text        NOT NULL,
    at              timestamptz NOT NULL,  -- When this text came.
    PRIMARY KEY (conversation_id, message_id, replaced_seq, slot)
);
ALTER TABLE store.revisions ALTER COLUMN body SET STATISTICS 0;

CREATE TABLE store.tapbacks (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    message_id      uuid        NOT NULL,
    user_id         text        COLLATE "C" NOT NULL,
    kind            text        NOT NULL CHECK (octet_length(kind) BETWEEN 1 AND 64),
    at              timestamptz NOT NULL,
    PRIMARY KEY (conversation_id, message_id, user_id, slot)
);

-- Messages deleted for one user alone.
CREATE TABLE store.hidden (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    seq             bigint   NOT NULL,  -- The message's.
    PRIMARY KEY (conversation_id, user_id, seq, slot)
);

-- Deletions for everyone that came before their message, as an outbox may send them: the message is stored deleted.
CREATE TABLE store.early_deletions (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    message_id      uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id, message_id, user_id, slot)
);

-- What became of each write that came with an Idempotency-Key. Kept for ever, so never any text.
CREATE TABLE store.outcomes (
    user_slot       smallint    NOT NULL,
    user_id         text        COLLATE "C" NOT NULL,
    key             uuid        NOT NULL,
    action          smallint    NOT NULL,  -- Write.Action in Shared/Wire
    conversation_id uuid        NOT NULL,
    subject         uuid,                  -- The message, or a hash of the member's name.
    problem         smallint    NOT NULL,  -- Problem.Code in Shared/Wire; 0: it succeeded
    at              timestamptz NOT NULL,
    PRIMARY KEY (user_id, key, user_slot)
);
