-- owner: store
-- What concerns one user alone, on all of their devices, at a dense position of its own.

CREATE TABLE store.user_streams (
    user_slot smallint NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id   text     COLLATE "C" NOT NULL,
    last_useq bigint   NOT NULL CHECK (last_useq > 0),
    PRIMARY KEY (user_id, user_slot)
) WITH (fillfactor = 50);

CREATE TABLE store.user_changes (
    user_slot       smallint    NOT NULL,
    user_id         text        COLLATE "C" NOT NULL,
    useq            bigint      NOT NULL CHECK (useq > 0),
    kind            smallint    NOT NULL CHECK (kind BETWEEN 1 AND 6),  -- PrivateKind in Shared/Wire
    at              timestamptz NOT NULL,
    slot            smallint,
    conversation_id uuid,
    message_id      uuid,
    seq             bigint,  -- joined: the position before the stay; cleared: through; read: up to
    PRIMARY KEY (user_id, useq, user_slot)
);
