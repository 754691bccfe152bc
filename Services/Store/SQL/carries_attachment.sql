-- Whether a message carries a file, whoever may see it. Always one row.
--
-- :slot         smallint
-- :conversation uuid
-- :message      uuid
-- :sender       text     of the message
-- :media        text     the id of the file
--
-- > may_read boolean
SELECT EXISTS (
    SELECT FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message AND {carries_file}
) AS may_read
