-- A page of the votes in a poll by user name. No row: this reader sees no such message. One row without a user: the page is
-- empty.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
-- :after        text        the last user of the page before
-- :limit        bigint
-- :chosen       smallint    the bits of options, of which a vote has one at least
--
-- > user_id text
-- > options smallint
-- > at      timestamptz
WITH {visible_message}
SELECT t.user_id, t.options, t.at
FROM visible m LEFT JOIN LATERAL (
    SELECT v.user_id, v.options, v.at FROM store.votes v
    WHERE v.slot = :slot AND v.conversation_id = :conversation AND v.message_id = :message AND v.user_id > :after
      AND v.seq <= {end_of_stays} AND v.options & :chosen <> 0
    ORDER BY v.user_id LIMIT :limit
) t ON true
ORDER BY t.user_id
