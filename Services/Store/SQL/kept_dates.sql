-- The dates that `receipt` keeps of messages in large conversations, so that a page of history need not read the runs of all
-- members. A message without a kept date may still have one (receipt_dates).
--
-- :slot         smallint
-- :conversation uuid
-- :seqs         bigint[]    ascending
--
-- > kind     smallint       RunKind: delivered or read
-- > from_seq bigint
-- > to_seq   bigint
-- > at       timestamptz
SELECT k.kind, c.from_seq, c.to_seq, c.at
FROM (VALUES ({RunKind.delivered}::smallint), ({RunKind.read}::smallint)) AS k (kind)
CROSS JOIN LATERAL (
    SELECT c.from_seq, c.to_seq, c.at FROM receipt.published_completions c
    WHERE c.slot = :slot AND c.conversation_id = :conversation AND c.kind = k.kind AND c.to_seq >= (:seqs)[1]
    ORDER BY c.to_seq LIMIT (:seqs)[cardinality(:seqs)] - (:seqs)[1] + 1
) c
WHERE c.from_seq <= (:seqs)[cardinality(:seqs)] AND c.at IS NOT NULL
