-- Removes a piece of the receipts of an erased user in a conversation, under the lock of its position.
--
-- :slot         smallint
-- :conversation uuid
-- :user         text
--
-- > has_more boolean
WITH no_runs AS (
    DELETE FROM receipt.receipt_runs r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user AND (r.kind, r.to_seq) IN (
        SELECT o.kind, o.to_seq FROM receipt.receipt_runs o
        WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.user_id = :user
        ORDER BY o.kind, o.to_seq LIMIT {ReceiptErasure.rowsLimit})
    RETURNING 1
), no_horizon AS (
    DELETE FROM receipt.horizons h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = :user
)
SELECT (SELECT count(*) FROM no_runs) = {ReceiptErasure.rowsLimit} AS has_more
