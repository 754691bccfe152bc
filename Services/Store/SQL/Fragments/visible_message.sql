-- CTEs `stays`, as {stays_of_reader} has it, and `visible`: a message, if it lies in one of these ranges and the reader has
-- not hidden it.
--
-- :slot
-- :conversation
-- :reader
-- :message
{stays_of_reader}, visible AS MATERIALIZED (
    SELECT m.* FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message
      AND EXISTS (SELECT FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq)
      AND {is_not_hidden(seq => m.seq)}
)
