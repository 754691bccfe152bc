-- parley: compatible from 11
-- owner: store
-- The place of a migration of a branch beside this one, which takes it when the two are merged.

SELECT 1;
