-- SELECT of the last rows of the conversation `c` in the stays of a reader, newest first. The nested loop keeps the order of
-- the stays, which never overlap.
--
-- :reader
-- :limit
-- :after     no row up to this position
SELECT m.* FROM (
    SELECT greatest(s.joined_seq, :after + 1) AS first_seq, coalesce(s.left_seq, {Int64.max}) AS last_seq
    FROM store.memberships s
    WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = :reader
      AND coalesce(s.left_seq, {Int64.max}) > :after
    ORDER BY s.joined_seq DESC OFFSET 0
) s CROSS JOIN LATERAL (
    SELECT m.seq, m.sender_id, m.kind, m.deleted_at FROM store.messages m
    WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.seq BETWEEN s.first_seq AND s.last_seq
    ORDER BY m.seq DESC LIMIT :limit
) m LIMIT :limit
