-- The time at which user `p` passed the message `own`: that of the one run that passes it, the first that ends at or after
-- it.
--
-- :slot
-- :conversation
-- :kind         RunKind: delivered or read
-- :condition    which runs `r` count
SELECT r.at FROM (
    (SELECT r.from_seq, r.at FROM receipt.published_receipt_runs r
     WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = p.user_id AND r.kind = :kind
       AND r.to_seq >= own.seq
     ORDER BY r.to_seq LIMIT 1)
    UNION ALL
    (SELECT r.from_seq, r.at FROM receipt.published_receipt_runs r
     WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = p.user_id AND r.kind = {RunKind.both}
       AND r.to_seq >= own.seq
     ORDER BY r.to_seq LIMIT 1)
) r WHERE r.from_seq <= own.seq AND :condition
