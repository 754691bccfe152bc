-- The row `e` of store.erasures: its progress, and what it has erased so far.
--
-- > number          bigint
-- > requested_at    timestamptz
-- > erased_at       timestamptz    NULL: it goes on
-- > messages        bigint
-- > revisions       bigint
-- > tapbacks        bigint
-- > votes           bigint
-- > mentions        bigint
-- > receipts        bigint
-- > memberships     bigint
-- > hidden          bigint
-- > private_changes bigint
-- > outcomes        bigint
e.number, e.requested_at, e.erased_at, e.messages, e.revisions, e.tapbacks, e.votes, e.mentions, e.receipts, e.memberships,
e.hidden, e.private_changes, e.outcomes
