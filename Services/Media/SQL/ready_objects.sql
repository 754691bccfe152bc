-- Files that are kept, in the order of their ids.
--
-- :slots smallint[]
-- :after uuid
-- :last  uuid
--
-- > id         uuid
-- > version    bigint
-- > sha256     text
-- > size       bigint
-- > thumbnails text     or NULL
SELECT o.id, o.version, o.sha256, o.size, o.thumbnails FROM media.objects o
WHERE o.slot = ANY (:slots) AND o.id > :after AND o.id <= :last AND o.state = {ObjectState.ready}
ORDER BY o.id, o.slot
LIMIT {KeptObject.rowsAtOnce}
