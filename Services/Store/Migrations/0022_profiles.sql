-- parley: compatible from 11
-- owner: store

-- What users are called and look like. A row stays when a profile is emptied, so that its version only grows; it goes when the
-- user is erased.
CREATE TABLE store.profiles (
    user_slot    smallint NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id      text     COLLATE "C" NOT NULL,
    version      bigint   NOT NULL CHECK (version > 0),
    display_name text     COLLATE "C",  -- NULL: none, as in the following columns
    avatar_url   text     COLLATE "C",
    extra        text     COLLATE "C",  -- The application's own JSON, as it was given.
    PRIMARY KEY (user_id, user_slot)
);
-- Statistics would keep names of users who are erased.
ALTER TABLE store.profiles ALTER COLUMN display_name SET STATISTICS 0;
ALTER TABLE store.profiles ALTER COLUMN avatar_url SET STATISTICS 0;
ALTER TABLE store.profiles ALTER COLUMN extra SET STATISTICS 0;

-- 13: the user's own profile changed. Not validated, as in 0014.
ALTER TABLE store.user_changes DROP CONSTRAINT user_changes_kind_check;
ALTER TABLE store.user_changes ADD CONSTRAINT user_changes_kind_check CHECK (kind BETWEEN 1 AND 13) NOT VALID;
