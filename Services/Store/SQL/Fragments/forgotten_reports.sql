-- CTEs: removes reports of the slot that are kept no longer ({is_kept_report}), a few with each write that `moved`. Their
-- conversations need not be locked: nobody else writes to these rows but an erasure, whose steps have transactions of their own,
-- and those that another transaction holds are left to the next write. A join would ask again for the first ones and lock others.
--
-- :slot
outdated AS MATERIALIZED (
    SELECT o.conversation_id, o.id FROM store.reports o
    WHERE o.slot = :slot AND NOT o.is_open
      AND o.resolved_at < (SELECT {ChangeTime.now}) - {ContractLimits.resolvedReportLifetime}
      AND EXISTS (SELECT FROM moved)
    ORDER BY o.resolved_at LIMIT {ReportStatements.forgottenAtOnce} FOR UPDATE SKIP LOCKED
),
forgotten AS (
    DELETE FROM store.reports r USING outdated o
    WHERE r.slot = :slot AND r.conversation_id = o.conversation_id AND r.id = o.id
)
