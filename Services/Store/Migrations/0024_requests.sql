-- parley: compatible from 11
-- owner: store

-- Conversations that somebody brought a user into whom the user does not know, until the user has decided. Such a conversation is
-- not in the inbox, so nothing that goes by the inbox shows it. The user's stay in it ends at the highest position: it can be
-- read, and in everything else the user is no member. To the others there is a shadow.
CREATE TABLE store.requests (
    user_slot       smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id         text        COLLATE "C" NOT NULL,
    conversation_id uuid        NOT NULL,
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),  -- Of the conversation.
    is_direct       boolean     NOT NULL,
    direct_id       uuid        NOT NULL,  -- The direct conversation with whoever brought the user in: it stands for them.
    is_waiting      boolean     NOT NULL,
    is_declined     boolean     NOT NULL,  -- Or one too many of theirs. Neither: the user was taken out before they had decided.
    at              timestamptz NOT NULL,
    PRIMARY KEY (user_id, conversation_id, user_slot),
    CHECK (NOT (is_waiting AND is_declined))
);
-- The latest of each kind.
CREATE INDEX requests_waiting ON store.requests (user_id, is_direct, at, conversation_id, user_slot) WHERE is_waiting;
-- How many are of one stranger.
CREATE INDEX requests_of_stranger ON store.requests (user_id, direct_id, user_slot) WHERE NOT is_direct;

-- Of a private change `request`: whether it waits from then on.
ALTER TABLE store.user_changes ADD COLUMN is_waiting boolean;
-- 15: a request. Not validated, as in 0014.
ALTER TABLE store.user_changes DROP CONSTRAINT user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 15) NOT VALID;
