-- parley: compatible from 11
-- owner: store

-- How long the messages of a conversation stay, in seconds, and since which position. NULL: for as long as it does.
ALTER TABLE store.conversations ADD COLUMN lifetime integer, ADD COLUMN lifetime_seq bigint;

-- 14: the lifetime changed, to this; NULL: to none. Not validated, as in 0014.
ALTER TABLE store.changes ADD COLUMN lifetime integer;
ALTER TABLE store.changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE store.changes ADD CONSTRAINT changes_kind_check CHECK (kind BETWEEN 2 AND 14) NOT VALID;

-- Whether it was deleted because its time was over.
ALTER TABLE store.messages ADD COLUMN is_expired boolean;

-- Where messages are still to expire: those behind `from_seq`, up to `to_seq` when the lifetime was changed there.
CREATE TABLE store.lifetimes (
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid        NOT NULL,
    from_seq        bigint      NOT NULL,
    to_seq          bigint,
    seconds         integer     NOT NULL CHECK (seconds > 0),
    done_seq        bigint      NOT NULL,  -- Everything up to here has expired.
    due_at          timestamptz NOT NULL,  -- Nothing expires before.
    PRIMARY KEY (conversation_id, from_seq, slot)
);

CREATE INDEX lifetimes_due ON store.lifetimes (slot, due_at);
