-- Like lone_receipts, in conversations of any size, in which nobody is looked up: what `receipt_counts` and `kept_dates` find of
-- many messages of one conversation. It costs one pass over the horizons of each conversation. A message without a date that all
-- have may still have one (receipt_dates).
--
-- :sender        text
-- :slots         smallint[]
-- :conversations uuid[]
-- :seqs          bigint[]
--
-- > place             integer        the message, counted from 1
-- > recipient_count   integer
-- > delivered_count   integer
-- > read_count        integer
-- > last_delivered_at timestamptz    or NULL
-- > last_read_at      timestamptz    or NULL
SELECT i.n::int AS place, r.recipient_count, r.delivered_count, r.read_count,
    (SELECT CASE WHEN k.from_seq <= i.seq THEN k.at END FROM receipt.published_completions k
     WHERE k.slot = i.slot AND k.conversation_id = i.conversation_id AND k.kind = {RunKind.delivered} AND k.to_seq >= i.seq
     ORDER BY k.to_seq LIMIT 1) AS last_delivered_at,
    (SELECT CASE WHEN k.from_seq <= i.seq THEN k.at END FROM receipt.published_completions k
     WHERE k.slot = i.slot AND k.conversation_id = i.conversation_id AND k.kind = {RunKind.read} AND k.to_seq >= i.seq
     ORDER BY k.to_seq LIMIT 1) AS last_read_at
FROM (
    SELECT i.*, ARRAY[i.seq] AS seqs
    FROM unnest(:slots, :conversations, :seqs) WITH ORDINALITY AS i (slot, conversation_id, seq, n)
    OFFSET 0
) i
CROSS JOIN LATERAL (
    SELECT coalesce(sum(count) FILTER (WHERE first < member_end), 0)::int AS recipient_count,
        coalesce(sum(count) FILTER (WHERE first < delivered_end), 0)::int AS delivered_count,
        coalesce(sum(count) FILTER (WHERE first < read_end), 0)::int AS read_count
    FROM ({receipt_spans(slot => i.slot, conversation => i.conversation_id, seqs => i.seqs)}) spans
    OFFSET 0
) r
