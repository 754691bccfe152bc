-- The message in row `m`, all but its parent, as of a position: the last one that the reader may see. For a present member
-- that is the end. A former member sees the text and the tapbacks of when they left; only a deletion for everyone shows,
-- because what it took away is nowhere any more.
--
-- :slot
-- :reader      NULL: nobody, of a change that all readers get
-- :voter       whose vote in a poll is shown, or NULL
-- :position
--
-- > seq            bigint
-- > id             uuid
-- > changed_seq    bigint
-- > sender_id      text
-- > kind           smallint       MessageKind
-- > body           text           NULL when it was deleted for everyone; empty where attachments have no text beside them
-- > mentions       text           user names with commas between them, or NULL
-- > sent_at        timestamptz
-- > created_at     timestamptz
-- > edited_at      timestamptz    or NULL
-- > deleted_at     timestamptz    or NULL
-- > reply_to       uuid           or NULL
-- > reply_seq      bigint         or NULL
-- > attachments    text           JSON array, or NULL
-- > extra          text           JSON object, or NULL
-- > pinned_seq     bigint         or NULL: it is not pinned
-- > pinned_by      text           of use where it is
-- > pinned_at      timestamptz    as well
-- > is_expired     boolean        it was deleted because its time was over; or NULL
-- > forwarded_by   text           or NULL
-- > forwarded_at   timestamptz    or NULL
-- > {message_parts}
m.seq, m.id, least(m.changed_seq, :position) AS changed_seq, m.sender_id, m.kind, {text_as_of(row => m)} AS body,
    array_to_string(m.mentions, ',') AS mentions, m.sent_at, m.created_at, {edited_at_as_of} AS edited_at, m.deleted_at,
    m.reply_to, m.reply_seq,
    -- A store of before these columns deletes a message without them.
    CASE WHEN m.deleted_at IS NULL THEN m.attachments END AS attachments, CASE WHEN m.deleted_at IS NULL THEN m.extra END AS extra,
    CASE WHEN m.pinned_seq <= :position THEN m.pinned_seq END AS pinned_seq, m.pinned_by, m.pinned_at, m.is_expired,
    CASE WHEN m.deleted_at IS NULL THEN m.forwarded_by END AS forwarded_by, m.forwarded_at,
    {message_parts}
