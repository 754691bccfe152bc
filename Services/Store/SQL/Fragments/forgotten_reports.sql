-- CTE: removes resolved reports of the slot that are kept no longer, a few with each write that `moved`. Those that another
-- transaction holds are left to the next write, as conversations of the slot are locked one by one.
--
-- :slot
-- :conversation
-- :subject      the report that the write is about, which stays
forgotten AS (
    DELETE FROM store.reports r USING (
        SELECT o.conversation_id, o.id FROM store.reports o
        WHERE o.slot = :slot AND NOT o.is_open
          AND o.resolved_at < (SELECT {ChangeTime.now}) - {ContractLimits.resolvedReportLifetime}
          AND (o.conversation_id <> :conversation OR o.id <> :subject)
        ORDER BY o.resolved_at LIMIT {ReportStatements.forgottenAtOnce} FOR UPDATE SKIP LOCKED
    ) over
    WHERE r.slot = :slot AND r.conversation_id = over.conversation_id AND r.id = over.id AND EXISTS (SELECT FROM moved)
)
