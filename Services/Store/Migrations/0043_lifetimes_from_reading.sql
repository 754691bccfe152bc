-- parley: compatible from 11
-- owner: store

-- Whether the time of messages counts from when everybody else had read them. NULL: from when they were sent.
ALTER TABLE store.conversations ADD COLUMN lifetime_from_reading boolean;
ALTER TABLE store.changes ADD COLUMN lifetime_from_reading boolean;

-- When to look again, of a lifetime that counts from reading on; NULL of others. `due_at` is infinite then: executables that do
-- not know the column would have messages expire by when they were sent.
ALTER TABLE store.lifetimes ADD COLUMN look_at timestamptz;
CREATE INDEX lifetimes_next ON store.lifetimes (slot, least(due_at, look_at));
