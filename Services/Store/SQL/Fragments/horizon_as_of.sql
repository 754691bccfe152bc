-- How far the user of the stay `s` was at a time and up to a position.
--
-- :kind        RunKind: delivered, or read as far as others see it
-- :position
-- :at
coalesce(greatest(
    (SELECT r.to_seq FROM receipt.published_receipt_runs r
     WHERE r.slot = s.slot AND r.conversation_id = s.conversation_id AND r.user_id = s.user_id
       AND r.kind = :kind AND r.to_seq <= :position AND r.at <= :at
     ORDER BY r.to_seq DESC LIMIT 1),
    (SELECT r.to_seq FROM receipt.published_receipt_runs r
     WHERE r.slot = s.slot AND r.conversation_id = s.conversation_id AND r.user_id = s.user_id
       AND r.kind = {RunKind.both} AND r.to_seq <= :position AND r.at <= :at
     ORDER BY r.to_seq DESC LIMIT 1)), 0)
