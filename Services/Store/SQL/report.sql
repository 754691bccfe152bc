-- A report. Whether its reader may have it is for the caller to decide.
--
-- :slot         smallint
-- :conversation uuid
-- :id           uuid
--
-- > {report_row}
SELECT {report_row} FROM store.reports r
WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.id = :id AND {is_kept_report}
