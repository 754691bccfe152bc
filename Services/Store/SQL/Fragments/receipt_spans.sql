-- The stays in a conversation by how far their users are, for counting the receipts of some messages: what
-- `ReceiptCounts.Span` is. Work does not grow with messages times members, because the positions of the messages are
-- searched in halves (`width_bucket`) and equal ranges are one row.
--
-- A horizon never lies beyond the end of its user's last stay. So it counts for all messages before it, except those from
-- before a stay began: these, and the sender, are subtracted. Members who were there all the time, nearly all in a large
-- conversation, need no lookup.
--
-- Columns: first, member_end, delivered_end, read_end, count.
--
-- :slot
-- :conversation
-- :sender
-- :seqs           ascending
SELECT 0 AS first, cardinality(:seqs) AS member_end, 0 AS delivered_end, 0 AS read_end, c.member_count AS count
FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation
UNION ALL
-- Members who left after the first message and did not come back.
SELECT 0, width_bucket(s.left_seq, :seqs), 0, 0, 1 FROM store.published_appearances s
WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq >= (:seqs)[1] AND (
    SELECT true FROM store.published_appearances n
    WHERE n.slot = :slot AND n.conversation_id = :conversation AND n.user_id = s.user_id AND n.joined_seq > s.joined_seq
    LIMIT 1) IS NULL
UNION ALL
-- How far everybody is. Grouped before the lookup, and cut to the messages, because most members are at the same few
-- positions. There are two sets because these are always hashed: a sort would cost more than all the rest.
SELECT 0, 0, coalesce(width_bucket(delivered_seq, :seqs), 0), coalesce(width_bucket(shown_seq, :seqs), 0), count
FROM (
    SELECT least(h.delivered_seq, (SELECT (:seqs)[cardinality(:seqs)])) AS delivered_seq,
        CASE WHEN h.shown_seq >= (SELECT (:seqs)[1]) THEN least(h.shown_seq, (SELECT (:seqs)[cardinality(:seqs)])) END
            AS shown_seq,
        count(*) AS count
    FROM receipt.published_horizons h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.delivered_seq >= (SELECT (:seqs)[1])
    GROUP BY GROUPING SETS ((1), (2))
) alike
UNION ALL
-- Subtracts those who joined, or came back, after the first message, for the messages from their absence.
SELECT width_bucket(coalesce(left_before, 0), :seqs), width_bucket(joined_seq - 1, :seqs),
    width_bucket(least(joined_seq - 1, coalesce(delivered_seq, 0)), :seqs),
    width_bucket(least(joined_seq - 1, coalesce(shown_seq, 0)), :seqs), -1
FROM (
    SELECT s.joined_seq, h.delivered_seq, h.shown_seq, (
        SELECT b.left_seq FROM store.published_appearances b
        WHERE b.slot = :slot AND b.conversation_id = :conversation AND b.user_id = s.user_id AND b.joined_seq < s.joined_seq
        ORDER BY b.joined_seq DESC LIMIT 1) AS left_before
    FROM store.published_appearances s
    -- Each looked up on its own (OFFSET 0). The planner, expecting few, would compare each with all horizons.
    LEFT JOIN LATERAL (
        SELECT h.delivered_seq, h.shown_seq FROM receipt.published_horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = s.user_id
        OFFSET 0
    ) h ON true
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.joined_seq > (:seqs)[1]
) late
UNION ALL
-- Subtracts the sender.
SELECT width_bucket(s.joined_seq - 1, :seqs), width_bucket(coalesce(s.left_seq, {Int64.max}), :seqs),
    width_bucket(least(s.left_seq, coalesce(h.delivered_seq, 0)), :seqs),
    width_bucket(least(s.left_seq, coalesce(h.shown_seq, 0)), :seqs), -1
FROM store.published_appearances s
LEFT JOIN receipt.published_horizons h
    ON h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = s.user_id
WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :sender
