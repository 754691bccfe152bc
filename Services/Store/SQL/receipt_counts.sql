-- How far the recipients of some messages of one conversation are, as far as others may see, in one pass over the
-- conversation's horizons. During the erasure of a user, between the removal of their stays and that of their horizon, they
-- are counted for a moment.
--
-- :slot         smallint
-- :conversation uuid
-- :sender       text        nobody's name: everybody counts
-- :seqs         bigint[]    ascending
--
-- > first         integer    ReceiptCounts.Span
-- > member_end    integer
-- > delivered_end integer
-- > read_end      integer
-- > count         bigint
SELECT first, member_end, delivered_end, read_end, sum(count)::bigint AS count
FROM ({receipt_spans}) spans GROUP BY 1, 2, 3, 4
