-- The first reports of a slot behind a place, in their order.
--
-- :slot               smallint
-- :is_open            boolean
-- :after_at           timestamptz
-- :after_conversation uuid
-- :after_id           uuid
-- :limit              bigint
--
-- > {report_row}
SELECT {report_row} FROM store.reports r
WHERE r.slot = :slot AND r.is_open = :is_open
  AND {is_kept_report} AND (r.created_at, r.conversation_id, r.id) > (:after_at, :after_conversation, :after_id)
ORDER BY r.created_at, r.conversation_id, r.id LIMIT :limit
