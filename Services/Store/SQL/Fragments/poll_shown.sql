-- The poll in the message of row `m`, as of a position. What was voted since is not known as it was then.
--
-- :slot
-- :voter         whose vote is shown, or NULL
-- :position
--
-- > poll           text           JSON object; NULL of any other message, and of one that was deleted
CASE WHEN m.kind = {MessageKind.poll} THEN (
        SELECT json_strip_nulls(json_build_object(
            'options', (
                SELECT json_agg(json_build_object('text', o.text, 'votes', n.counts[o.place]) ORDER BY o.place)
                FROM unnest(k.options) WITH ORDINALITY AS o(text, place)),
            'multiple', k.is_multiple, 'voters', n.voters,
            'closedAt', CASE WHEN k.closed_seq <= :position
                THEN to_char(k.closed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') END,
            'vote', CASE WHEN :voter IS NOT NULL THEN json_build_object('userId', :voter, 'options', (
                SELECT coalesce(json_agg(b.place ORDER BY b.place) FILTER (WHERE (v.options >> b.place) & 1 = 1), '[]')
                FROM (SELECT coalesce(max(v.options), 0) AS options FROM store.votes v
                      WHERE v.slot = :slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id
                        AND v.user_id = :voter AND v.seq <= :position) v,
                    generate_series(0, cardinality(k.options) - 1) AS b(place))) END))::text
        FROM store.polls k, {votes_as_of}
        WHERE k.slot = :slot AND k.conversation_id = m.conversation_id AND k.message_id = m.id
    ) END AS poll
