-- Whether the message in row `m` is a sender's and carries a file.
--
-- :sender
-- :media
m.sender_id = :sender AND m.deleted_at IS NULL AND EXISTS (
    SELECT FROM json_array_elements(m.attachments::json) AS a(file) WHERE a.file ->> 'id' = :media)
