-- parley: compatible from 11
-- owner: store

-- The place of a migration that is merged from elsewhere.
SELECT 1;
