-- What belongs to the message in row `m` and stands elsewhere, as of a position.
--
-- :reader
-- :position
--
-- > tapbacks       text           JSON array: the first 20, and the reader's own; NULL without any
-- > tapback_counts text           JSON object: how many of each kind; NULL without any
-- > event          text           JSON object: what a system message shows; NULL of any other
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
