-- parley: compatible from 11
-- owner: store

-- 3: admin. Not validated, as in 0014. (Executables that do not know the role read nothing of a member who has it: make admins
-- only when the upgrade is complete.)
ALTER TABLE store.memberships DROP CONSTRAINT memberships_role_check;
ALTER TABLE store.memberships ADD CONSTRAINT memberships_role_check CHECK (role IN (1, 2, 3)) NOT VALID;
ALTER TABLE store.shadows DROP CONSTRAINT shadows_role_check;
ALTER TABLE store.shadows ADD CONSTRAINT shadows_role_check CHECK (role IN (1, 2, 3)) NOT VALID;

-- Of a change of a role (10 member.changed) the one before. NULL: the other of member and owner, which were all there were.
ALTER TABLE store.changes ADD COLUMN prior_role smallint;
