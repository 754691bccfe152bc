-- Where and when the last stay of a user in a conversation ended. No row: it lasts, or there is none.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
--
-- > seq bigint
-- > at  timestamptz
SELECT position.seq, position.ended_at AS at FROM {position_of_view} WHERE position.ended_at IS NOT NULL
