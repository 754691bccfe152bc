-- The changes of a conversation that a client's windows cover. Each change has its message in the present state, or in the
-- state when the reader left, and no message if that was created before, between or after their stays. No row: the reader
-- never was a member.
--
-- :slot         smallint
-- :conversation uuid
-- :after        bigint
-- :through      bigint
-- :limit        bigint
-- :reader       text
--
-- > {feed}
WITH stays AS MATERIALIZED (
    SELECT joined_seq AS first_seq, coalesce(left_seq, {Int64.max}) AS last_seq FROM store.memberships
    WHERE slot = :slot AND conversation_id = :conversation AND user_id = :reader
),
{feed(position => p.last_seq, member_count => {member_count_of_created(position => p.last_seq)})}
