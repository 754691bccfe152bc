-- parley: compatible from 11
-- owner: store

-- Who may do what in a group: the lowest two bits who may add members, the next two who may rename, the next two who may write,
-- each 1 members, 3 admins, 2 owners. 21: members all of it. Without a CHECK, which every message would pay for. (Executables that
-- do not know the column enforce nothing of it: change permissions only when the upgrade is complete.)
ALTER TABLE store.conversations ADD COLUMN permissions smallint NOT NULL DEFAULT 21;

-- Where not every member may write, `early_deletions` has a row of nobody (user_id '') with the conversation's own id: a send looks
-- whether the conversation has any row there, so those that restrict nothing cost it nothing.

-- 11: the permissions changed, to these. Not validated, as in 0014.
ALTER TABLE store.changes ADD COLUMN permissions smallint;
ALTER TABLE store.changes DROP CONSTRAINT changes_kind_check;
ALTER TABLE store.changes ADD CONSTRAINT changes_kind_check CHECK (kind BETWEEN 2 AND 11) NOT VALID;
