-- The tapbacks on the message in row `m`, as of a position.
--
-- :slot
-- :reader
-- :position
--
-- > tapbacks       text           JSON array: the first `namedTapbacks`, and the reader's own; NULL without any
-- > tapback_counts text           JSON object: how many of each kind; NULL without any
CASE WHEN m.tapback_count > 0 THEN (
        SELECT json_agg(json_build_object('userId', t.user_id, 'kind', t.kind) ORDER BY t.seq)::text FROM (
            (SELECT r.user_id, r.kind, r.seq FROM store.tapbacks r
             WHERE r.slot = :slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= :position
             ORDER BY r.seq LIMIT {ContractLimits.namedTapbacks})
            UNION
            SELECT r.user_id, r.kind, r.seq FROM store.tapbacks r
            WHERE r.slot = :slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.user_id = :reader
              AND r.seq <= :position
        ) t
    ) END AS tapbacks,
    CASE WHEN m.tapback_count > 0 THEN ({tapback_counts})::text END AS tapback_counts
