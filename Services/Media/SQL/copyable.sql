-- Ready files that a message of their uploader is to carry, and what a copy of each needs.
--
-- :slot         smallint
-- :media        uuid[]
-- :conversation uuid
-- :message      uuid
--
-- > id         uuid
-- > version    bigint
-- > sha256     text
-- > size       bigint
-- > thumbnails text     or NULL
-- > facts      text     a JSON object, for `create_copy`
SELECT o.id, o.version, o.sha256, o.size, o.thumbnails,
    jsonb_build_object(
        'name', o.name, 'size', o.size, 'version', o.version, 'type', o.type, 'sha256', o.sha256, 'width', o.width, 'height', o.height,
        'duration_ms', o.duration_ms, 'thumbhash', o.thumbhash, 'waveform', o.waveform, 'thumbnails', o.thumbnails)::text AS facts
FROM media.objects o
JOIN media.carriers c ON c.slot = :slot AND c.media_id = o.id AND c.conversation_id = :conversation AND c.message_id = :message
WHERE o.slot = :slot AND o.id = ANY (:media) AND o.state = {ObjectState.ready}
ORDER BY o.id
