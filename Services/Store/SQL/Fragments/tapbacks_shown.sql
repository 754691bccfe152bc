-- The tapbacks on the message in row `m`, as of a position.
--
-- :slot
-- :reader
-- :position
--
-- > tapbacks       text           JSON array: the first `namedTapbacks`, and the reader's own; NULL without any
-- > tapback_counts text           JSON object: how many of each kind; NULL without any
CASE WHEN m.tapback_count > 0 THEN (
        SELECT json_agg(json_build_object('userId', t.user_id, 'kind', t.kind) ORDER BY t.place)::text FROM (
            SELECT r.user_id, r.kind, row_number() OVER (ORDER BY r.at, r.user_id) AS place
            FROM store.tapbacks r
            WHERE r.slot = :slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= :position
        ) t WHERE t.place <= {ContractLimits.namedTapbacks} OR t.user_id = :reader
    ) END AS tapbacks,
    CASE WHEN m.tapback_count > 0 THEN (
        SELECT json_object_agg(t.kind, t.count)::text FROM (
            SELECT r.kind, count(*) AS count
            FROM store.tapbacks r
            WHERE r.slot = :slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= :position
            GROUP BY r.kind
        ) t
    ) END AS tapback_counts
