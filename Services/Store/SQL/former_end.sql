-- Where and when the last stay of a user in a conversation ended. No row: it lasts, or there is none.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
--
-- > seq bigint
-- > at  timestamptz
SELECT e.seq, e.at FROM store.changes e
WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.seq = {end_of_view}
