-- A message as its reader sees it. No row: there is none for this reader.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
--
-- > {message_with_parent}
WITH {visible_message}
SELECT {message_with_parent(position => {end_of_stays})}
FROM visible m
LEFT JOIN LATERAL ({parent_of_visible}) parent ON true
