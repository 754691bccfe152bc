-- What `media` is to be told of messages that have lost their attachments: a page of the notes in some slots.
--
-- :slots              smallint[]
-- :after_slot         smallint      of the last note of the page before
-- :after_conversation uuid
-- :after_message      uuid
-- :limit              bigint
--
-- > slot            smallint
-- > conversation_id uuid
-- > message_id      uuid
-- > sender_id       text
-- > media           text      ids with commas between them
SELECT r.slot, r.conversation_id, r.message_id, r.sender_id, r.media
FROM store.media_releases r
WHERE r.slot = ANY (:slots) AND (r.slot, r.conversation_id, r.message_id) > (:after_slot, :after_conversation, :after_message)
ORDER BY r.slot, r.conversation_id, r.message_id LIMIT :limit
