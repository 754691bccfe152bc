-- Decides on a ready or refused file whose time has come: it stays for good if messages carry it, a while longer if
-- messages still may, and is hidden otherwise. `lock_objects` comes before it in the same transaction.
--
-- :slot smallint
-- :id   uuid
UPDATE media.objects o
SET state = CASE WHEN k.any THEN o.state ELSE {ObjectState.deleted} END,
    due_at = CASE WHEN NOT k.any THEN {now} WHEN k.unsure THEN {now} + {unsent_message} END
FROM (SELECT count(*) > 0 AS any, count(*) FILTER (WHERE NOT c.is_sent) > 0 AS unsure
      FROM media.carriers c WHERE c.slot = :slot AND c.media_id = :id) AS k
WHERE o.slot = :slot AND o.id = :id AND o.state IN ({ObjectState.ready}, {ObjectState.refused})
