-- What stands in the row `m` of a message itself, whoever reads it. As of a position before `changed_seq` that is not all,
-- nor where there is more; then {whole_message} has the rest.
--
-- > seq         bigint
-- > id          uuid
-- > changed_seq bigint
-- > sender_id   text
-- > kind        smallint       MessageKind
-- > body        text           NULL when it was deleted for everyone; empty where attachments have no text beside them
-- > mentions    text           user names with commas between them, or NULL
-- > sent_at     timestamptz
-- > created_at  timestamptz
-- > edited_at   timestamptz    or NULL
-- > deleted_at  timestamptz    or NULL
-- > reply_to    uuid           or NULL
-- > reply_seq   bigint         or NULL
-- > attachments text           JSON array, or NULL
-- > has_more    boolean
m.seq, m.id, m.changed_seq, m.sender_id, m.kind, m.body, array_to_string(m.mentions, ',') AS mentions, m.sent_at, m.created_at,
    m.edited_at, m.deleted_at, m.reply_to, m.reply_seq, CASE WHEN m.deleted_at IS NULL THEN m.attachments END AS attachments, m.kind <> {MessageKind.text} OR m.tapback_count > 0 AS has_more
