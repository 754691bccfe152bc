-- parley: compatible from 11
-- owner: store
-- The number is that of drafts, which are merged apart. Nothing changes.
COMMENT ON TABLE store.profiles IS NULL;
