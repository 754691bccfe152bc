-- What a reader may forward of a message. No row: there is none for this reader.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
--
-- > is_forwardable boolean
-- > body           text         or NULL
-- > media          text         the ids of its files with commas between them, or NULL
-- > user_id        text         who wrote it
-- > sent_at        timestamptz
WITH {visible_message}
SELECT m.deleted_at IS NULL AND m.kind IN ({MessageKind.text}, {MessageKind.reply}) AND NOT EXISTS (
        -- It would outlive what it is taken from.
        SELECT FROM store.lifetimes l
        WHERE l.slot = :slot AND l.conversation_id = :conversation
          AND m.seq >= l.from_seq AND m.seq < coalesce(l.to_seq, {Int64.max})) AS is_forwardable,
    {text_as_of(row => m, position => {end_of_stays})} AS body, {media_of(row => m)} AS media,
    coalesce(m.forwarded_by, m.sender_id) AS user_id,
    CASE WHEN m.forwarded_by IS NULL THEN m.sent_at ELSE m.forwarded_at END AS sent_at
FROM visible m
