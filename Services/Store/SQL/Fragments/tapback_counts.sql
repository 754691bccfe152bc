-- How many tapbacks of each kind are on the message in row `m`, as of a position: a JSON object (jsonb), or NULL without any.
-- Where there are many, it stands beside the message for a reader who sees its end (migration 0047). All rows that are left
-- were there at `tapbacks_seq` if none is of later, and if there are as many as then, they are all that were there.
--
-- :slot
-- :position
CASE WHEN m.changed_seq <= :position AND m.tapbacks_counted = m.tapback_count AND m.tapbacks_seq >= (
            SELECT r.seq FROM store.tapbacks r
            WHERE r.slot = :slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id
            ORDER BY r.seq DESC LIMIT 1)
        THEN m.tapback_counts
        ELSE (
            SELECT jsonb_object_agg(k.kind, k.count) FROM (
                SELECT r.kind, count(*) AS count FROM store.tapbacks r
                WHERE r.slot = :slot AND r.conversation_id = m.conversation_id AND r.message_id = m.id AND r.seq <= :position
                GROUP BY r.kind
            ) k
        ) END
