-- owner: receipt
-- When the last recipient of the messages of a large conversation had them, and had read them: worked out once, after the
-- fact, from the runs of all members, so that a page of history need not read all of those again.

-- The messages from one position to the other have this date; NULL: they had none when they were passed, because somebody
-- who left has them unread. Those beyond the last row have not been looked at. A date never changes: who the recipients of
-- a message are is settled when it is sent, and when each of them got to it as soon as they did.
CREATE TABLE receipt.completions (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    kind            smallint NOT NULL CHECK (kind IN (1, 2)),  -- 1 delivered to all, 2 read by all
    from_seq        bigint   NOT NULL CHECK (from_seq > 0),
    to_seq          bigint   NOT NULL CHECK (to_seq >= from_seq),
    at              timestamptz,
    PRIMARY KEY (conversation_id, kind, to_seq, slot)
);
