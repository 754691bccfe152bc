-- Like receipts, for a former member's own message, as of the end of their stay. It looks at every stay of the conversation,
-- so it is heavy.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
-- :after        text        the last user of the page before
-- :limit        bigint
--
-- > is_own          boolean        whether the reader sent the message and has left
-- > recipient_count bigint
-- > delivered_count bigint
-- > read_count      bigint
-- > user_id         text           NULL: the page is empty
-- > delivered_at    timestamptz    or NULL
-- > read_at         timestamptz    or NULL
WITH {visible_message}, own AS MATERIALIZED (
    SELECT m.seq, e.seq AS end_seq, e.at AS ended_at FROM visible m
    CROSS JOIN (SELECT p.seq, {ended_at(position => p.seq)} AS at FROM (SELECT {end_of_stays} AS seq) p) e
    WHERE m.sender_id = :reader AND m.kind <> {MessageKind.system} AND e.at IS NOT NULL
), recipients AS MATERIALIZED (
    SELECT p.user_id,
        ({time_of_receipt(kind => {RunKind.delivered}, condition => r.at <= own.ended_at)}) AS delivered_at,
        ({time_of_receipt(kind => {RunKind.read}, condition => r.at <= own.ended_at)}) AS read_at
    FROM own JOIN store.published_appearances p ON p.slot = :slot AND p.conversation_id = :conversation AND p.user_id <> :reader
        AND own.seq BETWEEN p.joined_seq AND coalesce(p.left_seq, own.seq)
)
SELECT EXISTS (SELECT FROM own) AS is_own, count.*, page.* FROM visible m
CROSS JOIN (
    SELECT count(*) AS recipient_count, count(delivered_at) AS delivered_count, count(read_at) AS read_count FROM recipients
) count
LEFT JOIN LATERAL (
    SELECT * FROM recipients WHERE delivered_at IS NOT NULL AND user_id > :after ORDER BY user_id LIMIT :limit
) page ON true
ORDER BY page.user_id
