-- Whether a reader sees a message, as its text, and it carries a file. Always one row.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
-- :sender       text     of the message
-- :media        text     the id of the file
--
-- > may_read boolean
WITH {visible_message}
SELECT EXISTS (SELECT FROM visible m WHERE {carries_file}) AS may_read
