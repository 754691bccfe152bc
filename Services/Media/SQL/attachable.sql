-- Files of a user, for the messages that are to carry them.
--
-- :slot     smallint
-- :uploader text
-- :media    uuid[]
--
-- > {object_columns}
SELECT {object_columns} FROM media.objects o
WHERE o.slot = :slot AND o.id = ANY (:media) AND o.uploader = :uploader AND o.state <> {ObjectState.deleted}
