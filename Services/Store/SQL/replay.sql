-- The changes of a conversation in a range of positions, for fanout, which cuts by the windows of its sessions. Each change
-- has its message in the present state, or in the state when the next member left. Anyone who sees the change left at that
-- time or later, so nobody gets a text from after their stay. No row: there is no such conversation.
--
-- :slot         smallint
-- :conversation uuid
-- :after        bigint
-- :through      bigint
-- :limit        bigint
-- :as_of        bigint   messages are as of this at the latest: a reader's end that no change tells
--
-- > {feed}
WITH stays AS MATERIALIZED (SELECT 1::bigint AS first_seq, {Int64.max} AS last_seq),
{feed(position => least({end_before_removal}, :as_of), member_count => {member_count_of_created(position => {end_before_removal})})}
