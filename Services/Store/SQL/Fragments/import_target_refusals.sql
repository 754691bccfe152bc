-- The conditions of the CASE that decides on a record about `target`, behind the one that recognises a repetition. A deletion takes with
-- it what there was of the message before.
--
-- :at
WHEN EXISTS (SELECT FROM target t WHERE t.deleted_at >= :at) AND :at <= state.last_at THEN {ImportVerdict.repeated}
{import_refusals}
WHEN NOT EXISTS (SELECT FROM target) THEN {ImportVerdict.unknownMessage}
WHEN EXISTS (SELECT FROM target t WHERE t.deleted_at IS NOT NULL) THEN {ImportVerdict.isDeleted}
