-- A message for a user who changed it, even if they have since hidden or cleared it. It is the response to a repeated write,
-- and shows the outcome. No row: the message is in none of this reader's stays.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
--
-- > {message_with_parent}
WITH {stays_of_reader}, visible AS MATERIALIZED (
    SELECT m.* FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message
      AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.joined_seq AND s.last_seq)
)
SELECT {message_with_parent(position => {end_of_stays})}
FROM visible m
LEFT JOIN LATERAL ({parent_of_visible}) parent ON true
