-- The messages of a page of history, whatever the reader's stays and whatever they hid, and the position it is exact at,
-- in one snapshot. No row: the reader never was a member. A row without a message: the page is empty. The rows are in no
-- order.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :pivot        bigint
-- :older        bigint      how many messages before the pivot
-- :newer        bigint      how many from it on
--
-- > {plain_message}
-- > last_seq bigint
SELECT {plain_message}, page.last_seq
FROM (
    SELECT least(c.last_seq, stays.last_seq) AS last_seq, EXISTS (
        SELECT FROM store.hidden d
        WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :reader) AS hides
    FROM store.conversations c, (
        SELECT max(coalesce(s.left_seq, {Int64.max})) AS last_seq FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
    ) stays
    WHERE c.slot = :slot AND c.id = :conversation AND stays.last_seq IS NOT NULL
    OFFSET 0
) page
LEFT JOIN LATERAL (
    -- The messages nearest to the pivot on either side of it. The nested loop keeps the order of the stays, which overlap
    -- nowhere, so the messages are not sorted, texts and all.
    (SELECT m.* FROM (
        SELECT greatest(s.joined_seq, s.cleared_seq + 1) AS first_seq, coalesce(s.left_seq, {Int64.max}) AS last_seq
        FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
        ORDER BY s.joined_seq DESC OFFSET 0
    ) s CROSS JOIN LATERAL (
        SELECT * FROM store.messages m
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq < :pivot
          AND m.seq BETWEEN s.first_seq AND s.last_seq AND (NOT page.hides OR {is_not_hidden(seq => m.seq)})
        ORDER BY m.seq DESC LIMIT :older
    ) m LIMIT :older)
    UNION ALL
    (SELECT m.* FROM (
        SELECT greatest(s.joined_seq, s.cleared_seq + 1) AS first_seq, coalesce(s.left_seq, {Int64.max}) AS last_seq
        FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
        ORDER BY s.joined_seq ASC OFFSET 0
    ) s CROSS JOIN LATERAL (
        SELECT * FROM store.messages m
        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq >= :pivot
          AND m.seq BETWEEN s.first_seq AND s.last_seq AND (NOT page.hides OR {is_not_hidden(seq => m.seq)})
        ORDER BY m.seq ASC LIMIT :newer
    ) m LIMIT :newer)
) m ON true
