-- parley: compatible from 11
-- owner: store

-- Whether owners and admins decide about whoever comes by it. (Executables that do not know the column let them in: make such
-- invitations only when the upgrade is complete.)
ALTER TABLE store.invitations ADD COLUMN needs_approval boolean NOT NULL DEFAULT false;

-- Who has asked to join a group, by an invitation. None of them is a member. Who made the invitation is not named here.
CREATE TABLE store.join_requests (
    slot            smallint    NOT NULL CHECK (slot BETWEEN 0 AND 255),
    conversation_id uuid        NOT NULL,
    user_id         text        COLLATE "C" NOT NULL,
    requested_at    timestamptz NOT NULL,
    invitation_id   uuid        NOT NULL,
    is_declined     boolean     NOT NULL DEFAULT false,  -- To who asked it goes on waiting.
    is_withdrawn    boolean     NOT NULL DEFAULT false,  -- By who asked.
    PRIMARY KEY (conversation_id, user_id, slot)
);

-- For erasures.
CREATE INDEX join_requests_users ON store.join_requests (user_id, slot);

-- 16: somebody asks to join (about_id). Not validated, as in 0014.
ALTER TABLE store.user_changes DROP CONSTRAINT user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 16) NOT VALID;
