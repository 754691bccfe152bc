-- Whether a reader is in the conversation `c`, or asked about it and reads on. By a scalar subquery, as {is_not_hidden}: `EXISTS` may
-- become a table of everything the reader has anywhere.
--
-- :reader
(SELECT true FROM store.memberships o
 WHERE o.slot = c.slot AND o.conversation_id = c.id AND o.user_id = :reader
   AND (o.left_seq IS NULL OR o.left_seq = {RequestsStatement.end}) LIMIT 1) IS NOT NULL
