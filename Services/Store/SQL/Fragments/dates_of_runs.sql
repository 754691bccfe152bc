-- SELECT of when runs of receipts last passed each of some messages; see receipt_dates.
--
-- :slot
-- :conversation
-- :sender
-- :seqs           ascending
-- :condition      which runs `r`
SELECT kind, first, run_end, max(at) AS at FROM (
    SELECT k.kind, width_bucket(greatest(r.from_seq, s.joined_seq) - 1, :seqs) AS first,
        width_bucket(least(r.to_seq, s.left_seq), :seqs) AS run_end, r.at
    FROM store.published_appearances s
    CROSS JOIN (VALUES ({RunKind.delivered}::smallint), ({RunKind.read}::smallint), ({RunKind.both}::smallint)) AS k (kind)
    CROSS JOIN LATERAL (
        -- Each run passes a position at least, so the span of the messages bounds how many there are.
        SELECT r.from_seq, r.to_seq, r.at FROM receipt.published_receipt_runs r
        WHERE r.slot = s.slot AND r.conversation_id = s.conversation_id AND r.user_id = s.user_id
          AND r.kind = k.kind AND r.to_seq >= (:seqs)[1] AND :condition
        ORDER BY r.to_seq LIMIT (:seqs)[cardinality(:seqs)] - (:seqs)[1] + 1
    ) r
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id <> :sender
) covered
WHERE first < run_end
GROUP BY kind, first, run_end
