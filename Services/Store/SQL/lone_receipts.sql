-- How far the recipients of some messages of one sender are, as far as others may see, each the only one of its conversation,
-- as in a list: what `recipients` and `receipt_dates` find of many messages of one conversation. Conversations with more members
-- or stays than the limit are not counted (lone_receipts_of_many), nor are those that the sender has left.
--
-- Each message costs the look-ups of its recipients, however long its conversation is. Dates are looked up where all recipients
-- have the message.
--
-- :sender        text
-- :slots         smallint[]
-- :conversations uuid[]
-- :seqs          bigint[]
-- :limit         integer
--
-- > place             integer        the message, counted from 1
-- > is_present        boolean        whether the sender is in the conversation
-- > is_counted        boolean
-- > recipient_count   integer
-- > delivered_count   integer
-- > read_count        integer
-- > last_delivered_at timestamptz    when the last recipient received it, or NULL
-- > last_read_at      timestamptz    when the last recipient read it, or NULL
SELECT i.n::int AS place, i.is_present, i.is_small AND r.stay_count <= :limit AS is_counted, r.recipient_count,
    r.delivered_count, r.read_count, d.last_delivered_at, d.last_read_at
FROM (
    SELECT i.*, i.is_present AND (
            SELECT c.member_count FROM store.conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id
        ) <= :limit AS is_small
    FROM (
        SELECT i.*, (
                SELECT true FROM store.memberships o
                WHERE o.slot = i.slot AND o.conversation_id = i.conversation_id AND o.user_id = :sender AND o.left_seq IS NULL
            ) IS NOT NULL AS is_present
        FROM unnest(:slots, :conversations, :seqs) WITH ORDINALITY AS i (slot, conversation_id, seq, n)
        OFFSET 0
    ) i
    OFFSET 0
) i
CROSS JOIN LATERAL (
    SELECT count(*)::int AS stay_count, (count(*) FILTER (WHERE s.is_recipient))::int AS recipient_count,
        (count(*) FILTER (WHERE s.is_recipient AND s.delivered_seq >= i.seq))::int AS delivered_count,
        (count(*) FILTER (WHERE s.is_recipient AND s.shown_seq >= i.seq))::int AS read_count,
        array_agg(s.user_id) FILTER (WHERE s.is_recipient) AS recipients
    FROM (
        SELECT s.user_id, i.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, i.seq) AS is_recipient, h.delivered_seq,
            h.shown_seq
        FROM (
            SELECT s.user_id, s.joined_seq, s.left_seq FROM store.published_appearances s
            WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id <> :sender
            LIMIT :limit + 1  -- One more shows that there are more.
        ) s
        LEFT JOIN LATERAL (
            SELECT h.delivered_seq, h.shown_seq FROM receipt.published_horizons h
            WHERE h.slot = i.slot AND h.conversation_id = i.conversation_id AND h.user_id = s.user_id
            OFFSET 0
        ) h ON true
        WHERE i.is_small  -- Else nothing is looked up.
    ) s
    OFFSET 0
) r
CROSS JOIN LATERAL (
    SELECT max(run.at) FILTER (WHERE k.kind <> {RunKind.read}) AS last_delivered_at,
        max(run.at) FILTER (WHERE k.kind <> {RunKind.delivered}) AS last_read_at
    FROM unnest(CASE WHEN r.delivered_count = r.recipient_count AND r.stay_count <= :limit THEN r.recipients END) AS u (id)
    CROSS JOIN unnest(CASE WHEN r.read_count = r.recipient_count
        THEN ARRAY[{RunKind.delivered}, {RunKind.read}, {RunKind.both}]
        ELSE ARRAY[{RunKind.delivered}, {RunKind.both}] END) AS k (kind)
    CROSS JOIN LATERAL (
        SELECT n.from_seq, n.at FROM receipt.published_receipt_runs n
        WHERE n.slot = i.slot AND n.conversation_id = i.conversation_id AND n.user_id = u.id AND n.kind = k.kind
          AND n.to_seq >= i.seq
        ORDER BY n.to_seq LIMIT 1
    ) run
    WHERE run.from_seq <= i.seq
    OFFSET 0
) d
