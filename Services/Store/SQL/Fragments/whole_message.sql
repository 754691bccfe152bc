-- The message in row `m`, all but its parent, as of a position: the last one that the reader may see. For a present member
-- that is the end. A former member sees the text and the tapbacks of when they left; only a deletion for everyone shows,
-- because what it took away is nowhere any more.
--
-- :reader      NULL: nobody, of a change that all readers get
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
-- > tapbacks       text           JSON array: the first 20, and the reader's own; NULL without any
-- > tapback_counts text           JSON object: how many of each kind; NULL without any
-- > event          text           JSON object: what a system message shows; NULL of any other
m.seq, m.id, least(m.changed_seq, :position) AS changed_seq, m.sender_id, m.kind, {text_as_of(row => m)} AS body,
    array_to_string(m.mentions, ',') AS mentions, m.sent_at, m.created_at, {edited_at_as_of} AS edited_at, m.deleted_at,
    -- A store of before the column deletes a message without it.
    m.reply_to, m.reply_seq, CASE WHEN m.deleted_at IS NULL THEN m.attachments END AS attachments,
    CASE WHEN m.tapback_count > 0 THEN (
        SELECT json_agg(json_build_object('userId', t.user_id, 'kind', t.kind) ORDER BY t.place)::text FROM (
            SELECT r.user_id, r.kind, row_number() OVER (ORDER BY r.at, r.user_id) AS place
            FROM store.tapbacks r
            WHERE r.slot = m.slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= :position
        ) t WHERE t.place <= 20 OR t.user_id = :reader
    ) END AS tapbacks,
    CASE WHEN m.tapback_count > 0 THEN (
        SELECT json_object_agg(t.kind, t.count)::text FROM (
            SELECT r.kind, count(*) AS count
            FROM store.tapbacks r
            WHERE r.slot = m.slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= :position
            GROUP BY r.kind
        ) t
    ) END AS tapback_counts,
    CASE WHEN m.kind = {MessageKind.system} THEN (
        SELECT json_strip_nulls(json_build_object(
            'kind', CASE h.kind
                WHEN {ChangeKind.memberAdded} THEN {ChangeKind.memberAdded.name}
                WHEN {ChangeKind.memberRemoved} THEN {ChangeKind.memberRemoved.name}
                WHEN {ChangeKind.memberChanged} THEN {ChangeKind.memberChanged.name}
                WHEN {ChangeKind.conversationRenamed} THEN {ChangeKind.conversationRenamed.name}
            END, 'userId', h.user_id, 'title', h.title))::text
        FROM store.changes h
        WHERE h.slot = m.slot AND h.conversation_id = m.conversation_id AND h.seq = m.seq
    ) END AS event
