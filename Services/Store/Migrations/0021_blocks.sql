-- parley: compatible from 11
-- owner: store

-- Whom users have blocked. (Executables that do not know the table enforce nothing of it, and show others where a stay was
-- closed: block only when the upgrade is complete.)
CREATE TABLE store.blocks (
    user_slot  smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id    text        COLLATE "C" NOT NULL,
    blocked_id text        COLLATE "C" NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (user_id, blocked_id, user_slot)
);
-- Who names an erased user.
CREATE INDEX blocks_of_others ON store.blocks (blocked_id, user_slot);

-- Stays as all but their users see them, where these differ: a user who blocks the other of a direct conversation closes their
-- own stay in it; who is added by somebody they have blocked has none.
CREATE TABLE store.shadows (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    user_id         text     COLLATE "C" NOT NULL,
    joined_seq      bigint   NOT NULL CHECK (joined_seq > 0),
    left_seq        bigint   CHECK (left_seq >= joined_seq),   -- NULL: a present member
    role            smallint NOT NULL CHECK (role IN (1, 2)),  -- 1 member, 2 owner
    PRIMARY KEY (conversation_id, user_id, joined_seq, slot)
);
CREATE INDEX shadows_left ON store.shadows (conversation_id, left_seq, slot) WHERE left_seq IS NOT NULL;

-- Finds the shadows of a user who is in the conversation in no other way, when they are erased. Not in the inbox, which is
-- read with every start: whom they have blocked could fill it.
CREATE TABLE store.shadow_listings (
    user_slot       smallint NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id         text     COLLATE "C" NOT NULL,
    conversation_id uuid     NOT NULL,
    PRIMARY KEY (user_id, conversation_id, user_slot)
);

-- The user alone sees the row; the others see one of `shadows` in its place.
ALTER TABLE store.memberships ADD COLUMN is_shadowed boolean NOT NULL DEFAULT false;
-- When the user closed the stay. No change tells.
ALTER TABLE store.memberships ADD COLUMN left_at timestamptz;
CREATE INDEX memberships_closed ON store.memberships (conversation_id, left_seq, slot) WHERE left_at IS NOT NULL;

-- Of a private change `blocked`: about whom (NULL: who was erased since), and whether they are from then on.
ALTER TABLE store.user_changes ADD COLUMN about_id text COLLATE "C";
ALTER TABLE store.user_changes ADD COLUMN is_blocked boolean;
CREATE INDEX user_changes_about ON store.user_changes (about_id, user_slot) WHERE about_id IS NOT NULL;
