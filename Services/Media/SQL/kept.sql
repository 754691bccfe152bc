-- Which of these files there are, and in which version.
--
-- :slots smallint[]
-- :media uuid[]
--
-- > id      uuid
-- > state   smallint
-- > version bigint   or NULL
SELECT o.id, o.state, o.version FROM unnest(:slots, :media) AS i (slot, id)
JOIN media.objects o ON o.slot = i.slot AND o.id = i.id
