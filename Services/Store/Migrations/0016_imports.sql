-- parley: compatible from 11
-- owner: store

-- Conversations whose history is brought from elsewhere. While an import is open nobody is a member: the stays wait in a
-- table of their own, so that no reader and no writer meets a history that is not complete.

-- The row of an import that has ended stays: by it, lines that come again after the end are recognised.
CREATE TABLE store.imports (
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid        NOT NULL,
    ended_at        timestamptz,                     -- NULL: it is open
    is_dropped      boolean     NOT NULL DEFAULT false,  -- It goes, piece by piece, and its row last.
    PRIMARY KEY (conversation_id, slot)
);

-- Who was in the conversation so far. At the end the rows move to `memberships`.
CREATE TABLE store.import_stays (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    user_slot       smallint NOT NULL,
    joined_seq      bigint   NOT NULL CHECK (joined_seq > 0),
    left_seq        bigint   CHECK (left_seq >= joined_seq),   -- NULL: present
    role            smallint NOT NULL CHECK (role IN (1, 2)),  -- 1 member, 2 owner
    PRIMARY KEY (conversation_id, user_id, joined_seq, slot)
);
-- Nobody is a member twice at once.
CREATE UNIQUE INDEX import_stays_present ON store.import_stays (conversation_id, user_id, slot) WHERE left_seq IS NULL;

-- Edits and deletions that were imported with their message and happened later: they take their positions when the import
-- comes to their time.
CREATE TABLE store.import_events (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    at              timestamptz NOT NULL,
    seq             bigint      NOT NULL,  -- The message's.
    step            smallint    NOT NULL,  -- Orders the edits of a message.
    message_id      uuid        NOT NULL,
    sender_id       text        COLLATE "C" NOT NULL,
    body            text,                  -- NULL: the message is deleted for everyone
    PRIMARY KEY (conversation_id, at, seq, step, slot)
);
-- The planner's statistics would keep copies of deleted texts.
ALTER TABLE store.import_events ALTER COLUMN body SET STATISTICS 0;
