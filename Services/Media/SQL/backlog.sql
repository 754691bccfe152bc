-- How many uploads wait to be looked into and kept, and their bytes.
--
-- :slots smallint[]
--
-- > files bigint  at most {Caretaker.backlogRows}
-- > bytes bigint  of these
SELECT count(*) AS files, coalesce(sum(w.size), 0)::bigint AS bytes
FROM (SELECT o.size FROM media.objects o
      WHERE o.slot = ANY (:slots) AND o.state = {ObjectState.processing}
      LIMIT {Caretaker.backlogRows}) AS w
