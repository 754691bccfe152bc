-- A page of the tapbacks on a message by user name, and the count of each kind. No row: this reader sees no such message. One
-- row without a user: the page is empty.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
-- :after        text        the last user of the page before
-- :limit        bigint
--
-- > user_id text
-- > kind    text
-- > at      timestamptz
-- > counts  text           JSON object
WITH {visible_message}, counted AS MATERIALIZED (
    SELECT ({tapback_counts(position => {end_of_stays})})::text AS counts FROM visible m
)
SELECT t.user_id, t.kind, t.at, coalesce((SELECT c.counts FROM counted c), '{}') AS counts
FROM visible m LEFT JOIN LATERAL (
    SELECT r.user_id, r.kind, r.at FROM store.tapbacks r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :message AND r.user_id > :after
      AND r.seq <= {end_of_stays}
    ORDER BY r.user_id LIMIT :limit
) t ON true
ORDER BY t.user_id
