-- The latest changes of a conversation, the latest one last, for what was just written in the same transaction. Messages
-- are in the state that the write left.
--
-- :slot
-- :conversation
-- :count
--
-- > {feed}
WITH stays AS MATERIALIZED (SELECT 1::bigint AS first_seq, {Int64.max} AS last_seq),
latest AS MATERIALIZED (
    SELECT c.last_seq FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation
),
{feed(
    after => (SELECT l.last_seq - :count FROM latest l), through => (SELECT l.last_seq FROM latest l), limit => :count,
    position => f.seq, member_count => p.member_count)}
