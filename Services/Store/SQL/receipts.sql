-- A page, by user name, of the recipients who have a message, for its sender, and the counts of all, in one snapshot. No row:
-- the reader sees no such message. A row without a name: the page is empty, or the reader did not send the message or is no
-- longer a member (former_receipts).
--
-- Each name on the page costs the lookups of a stay and of two runs. All others in the conversation cost one step of the
-- counts, in which nobody is looked up (of one message, all ends of {receipt_spans} are 0 or 1).
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
-- :after        text        the last user of the page before
-- :limit        bigint
--
-- > is_own          boolean        whether the reader sent the message and is a member
-- > recipient_count bigint
-- > delivered_count bigint
-- > read_count      bigint
-- > user_id         text           NULL: the page is empty
-- > delivered_at    timestamptz    or NULL
-- > read_at         timestamptz    or NULL
WITH {visible_message}, own AS MATERIALIZED (
    SELECT m.seq FROM visible m
    WHERE m.sender_id = :reader AND m.kind <> {MessageKind.system} AND {end_of_stays} = {Int64.max}
)
SELECT own.seq IS NOT NULL AS is_own, count.recipient_count, count.delivered_count, count.read_count,
    page.user_id, page.delivered_at, page.read_at
FROM visible m
LEFT JOIN own ON true
LEFT JOIN (
    SELECT coalesce(sum(count) FILTER (WHERE first < member_end), 0)::bigint AS recipient_count,
        coalesce(sum(count) FILTER (WHERE first < delivered_end), 0)::bigint AS delivered_count,
        coalesce(sum(count) FILTER (WHERE first < read_end), 0)::bigint AS read_count
    FROM ({receipt_spans(sender => :reader, seqs => (SELECT ARRAY[seq] FROM own))}) spans
) count ON own.seq IS NOT NULL
LEFT JOIN LATERAL (
    SELECT p.user_id, ({time_of_receipt(kind => {RunKind.delivered}, condition => true)}) AS delivered_at,
        CASE WHEN p.shown_seq >= own.seq
            THEN ({time_of_receipt(kind => {RunKind.read}, condition => true)}) END AS read_at
    FROM (
        SELECT h.user_id, h.shown_seq FROM receipt.published_horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id > :after AND h.user_id <> :reader
          AND h.delivered_seq >= own.seq AND (
            SELECT true FROM store.published_appearances s
            WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = h.user_id
              AND own.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, own.seq)
            LIMIT 1)
        ORDER BY h.user_id LIMIT :limit
    ) p
) page ON true
ORDER BY page.user_id
