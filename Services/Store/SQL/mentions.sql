-- A page of the messages that mention the reader behind a position, in their order. Only so many messages that mention anybody are
-- looked at, so a page may be empty though there are more. No row: the reader never was a member. One row without a message:
-- none was found.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :after        bigint
-- :limit        bigint
--
-- > through bigint       the next page begins behind it; NULL: there is none
-- > {message_with_parent}
WITH {stays_of_reader},
looked_at AS MATERIALIZED (
    SELECT m.seq, m.sender_id, m.deleted_at, m.mentions FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq > :after AND m.seq <= {end_of_stays}
      AND m.mentions IS NOT NULL
    ORDER BY m.seq LIMIT {UnreadStatement.mentioningRows}
),
found AS MATERIALIZED (
    SELECT m.seq FROM looked_at m
    WHERE m.mentions && ARRAY[:reader, {Mentions.everybody}] AND m.sender_id <> :reader AND m.deleted_at IS NULL
      AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
      AND {is_not_hidden(seq => m.seq)}
    ORDER BY m.seq LIMIT :limit
)
SELECT
    CASE WHEN known.found = :limit THEN known.last_found WHEN known.looked_at = {UnreadStatement.mentioningRows} THEN known.last_seq END
        AS through,
    {message_with_parent(position => {end_of_stays})}
FROM (
    SELECT (SELECT count(*) FROM found) AS found, (SELECT max(f.seq) FROM found f) AS last_found,
        (SELECT count(*) FROM looked_at) AS looked_at, (SELECT max(l.seq) FROM looked_at l) AS last_seq
    WHERE EXISTS (SELECT FROM stays)
) known
LEFT JOIN LATERAL (
    SELECT m.* FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq IN (SELECT f.seq FROM found f)
    OFFSET 0
) m ON true
LEFT JOIN LATERAL ({parent_of_visible}) parent ON true
ORDER BY m.seq
