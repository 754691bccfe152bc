-- owner: store
-- Every table carries its slot in every key, so that the database can be partitioned or distributed by it.
-- User names are compared by bytes (collation "C"), as the services do.

CREATE TABLE store.conversations (
    slot         smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    id           uuid        NOT NULL,
    kind         smallint    NOT NULL CHECK (kind IN (1, 2)),  -- 1 group, 2 direct
    title        text,
    creator_id   text        COLLATE "C" NOT NULL,
    created_at   timestamptz NOT NULL,
    last_seq     bigint      NOT NULL CHECK (last_seq > 0),    -- Positions are dense: this is also their number.
    last_at      timestamptz NOT NULL,
    member_count integer     NOT NULL CHECK (member_count >= 0),
    PRIMARY KEY (id, slot)
) WITH (fillfactor = 50);  -- Updated by every commit: room for HOT updates.

-- One row per stay. A member sees the changes from `joined_seq` to `left_seq`, both included.
CREATE TABLE store.memberships (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    joined_seq      bigint   NOT NULL CHECK (joined_seq > 0),
    left_seq        bigint   CHECK (left_seq >= joined_seq),   -- NULL: a present member
    role            smallint NOT NULL CHECK (role IN (1, 2)),  -- 1 member, 2 owner
    cleared_seq     bigint   NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation_id, user_id, joined_seq, slot)
);
-- Nobody is a member twice at once; also how a sender's membership is found.
CREATE UNIQUE INDEX memberships_present ON store.memberships (conversation_id, user_id, slot) WHERE left_seq IS NULL;

-- Finds a user's conversations. Written on joining only, so that a message costs nothing per member.
CREATE TABLE store.inbox (
    user_slot       smallint NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    conversation_id uuid     NOT NULL,
    slot            smallint NOT NULL,
    PRIMARY KEY (user_id, conversation_id, user_slot)
);
