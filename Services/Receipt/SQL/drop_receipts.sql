-- Takes away a piece of the receipts of an import that is being dropped, and at last its position, under the lock of the
-- position: a request that was in time holds it, and a later one finds the import closed.
--
-- :slot         smallint
-- :conversation uuid
--
-- > is_dropped boolean
-- > has_more   boolean
WITH dropped AS MATERIALIZED (
    SELECT FROM store.published_imports i
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.is_dropped
), no_runs AS (
    DELETE FROM receipt.receipt_runs r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND EXISTS (SELECT FROM dropped)
      AND (r.user_id, r.kind, r.to_seq) IN (
        SELECT o.user_id, o.kind, o.to_seq FROM receipt.receipt_runs o
        WHERE o.slot = :slot AND o.conversation_id = :conversation
        ORDER BY o.user_id, o.kind, o.to_seq LIMIT {ReceiptImports.rowsPerStep})
    RETURNING 1
), done AS MATERIALIZED (
    SELECT FROM dropped WHERE (SELECT count(*) FROM no_runs) < {ReceiptImports.rowsPerStep}
), no_horizons AS (
    DELETE FROM receipt.horizons h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND EXISTS (SELECT FROM done)
), no_position AS (
    DELETE FROM receipt.positions p
    WHERE p.slot = :slot AND p.conversation_id = :conversation AND EXISTS (SELECT FROM done)
)
SELECT EXISTS (SELECT FROM dropped) AS is_dropped, NOT EXISTS (SELECT FROM done) AS has_more
