-- parley: compatible from 11
-- owner: store

-- How many people a user whose account is new has brought into conversations, within the day that began with the first of them.
CREATE TABLE store.introductions (
    user_slot smallint    NOT NULL CHECK (user_slot BETWEEN 0 AND 255),
    user_id   text        COLLATE "C" NOT NULL,
    since     timestamptz NOT NULL,
    people    integer     NOT NULL CHECK (people > 0),
    PRIMARY KEY (user_id, user_slot)
);

-- 3: out of reach. Not validated, as in 0014.
ALTER TABLE store.suspensions DROP CONSTRAINT suspensions_mode_check;
ALTER TABLE store.suspensions ADD CONSTRAINT suspensions_mode_check CHECK (mode BETWEEN 0 AND 3) NOT VALID;
