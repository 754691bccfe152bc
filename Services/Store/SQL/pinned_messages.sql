-- A page of the messages that are pinned in a conversation and that the reader sees, latest pin first. No row: the reader never was a
-- member. One row without a message: the page is empty.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :before       bigint      where the last one of the page before was pinned
-- :limit        bigint
--
-- > {message_with_parent}
WITH {stays_of_reader},
found AS MATERIALIZED (
    SELECT m.seq FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.pinned_seq < :before AND m.pinned_seq <= {end_of_stays}
      AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
      AND {is_not_hidden(seq => m.seq)}
    ORDER BY m.pinned_seq DESC LIMIT :limit
)
SELECT {message_with_parent(position => {end_of_stays})}
FROM (SELECT WHERE EXISTS (SELECT FROM stays)) known
LEFT JOIN LATERAL (
    SELECT m.* FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq IN (SELECT f.seq FROM found f)
    OFFSET 0
) m ON true
LEFT JOIN LATERAL ({parent_of_visible}) parent ON true
ORDER BY m.pinned_seq DESC
