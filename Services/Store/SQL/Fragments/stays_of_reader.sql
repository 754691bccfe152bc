-- CTE `stays`: the ranges of a conversation that a reader may see. What the reader has cleared is before `first_seq`.
--
-- :slot
-- :conversation
-- :reader
stays AS MATERIALIZED (
    SELECT joined_seq, greatest(joined_seq, cleared_seq + 1) AS first_seq, coalesce(left_seq, {Int64.max}) AS last_seq
    FROM store.memberships
    WHERE slot = :slot AND conversation_id = :conversation AND user_id = :reader
)
