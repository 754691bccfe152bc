-- When the runs of one kind, and those of both kinds, last passed each of some messages; by each sender of one of them
-- separately.
--
-- :slot         smallint
-- :conversation uuid
-- :kind         smallint    RunKind: delivered or read
-- :seqs         bigint[]    the messages, ascending
-- :senders      text[]
--
-- > first   integer        the messages from this one, counted from 0,
-- > run_end integer        up to but not including this one
-- > sender  text           NULL of all who sent none
-- > at      timestamptz
SELECT first, run_end, sender, max(at) AS at FROM (
    SELECT width_bucket(greatest(r.from_seq, s.joined_seq) - 1, :seqs) AS first,
        width_bucket(least(r.to_seq, s.left_seq), :seqs) AS run_end,
        CASE WHEN s.user_id = ANY (:senders) THEN s.user_id END AS sender, r.at
    FROM store.published_appearances s
    CROSS JOIN LATERAL unnest(ARRAY[:kind, {RunKind.both}::smallint]) AS k (kind)
    CROSS JOIN LATERAL (
        -- Each run passes a position at least, so the span of the messages bounds how many there are.
        SELECT r.from_seq, r.to_seq, r.at FROM receipt.receipt_runs r
        WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = s.user_id
          AND r.kind = k.kind AND r.to_seq >= (:seqs)[1]
        ORDER BY r.to_seq LIMIT (:seqs)[cardinality(:seqs)] - (:seqs)[1] + 1
    ) r
    WHERE s.slot = :slot AND s.conversation_id = :conversation
) covered
WHERE first < run_end
GROUP BY first, run_end, sender
