-- FROM item `n (counts, voters)`: what had been chosen in the poll `k` of message `m` at a position. For a reader who sees its end
-- that is kept. For others the votes are counted, once for all options: in a large group there are many.
--
-- :slot
-- :position
LATERAL (
    SELECT k.counts, k.voters WHERE m.changed_seq <= :position
    UNION ALL
    SELECT c.counts, c.voters FROM (
        WITH chosen AS MATERIALIZED (
            SELECT v.options, count(*)::integer AS votes FROM store.votes v
            WHERE v.slot = :slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id AND v.seq <= :position
            GROUP BY v.options
        )
        SELECT ARRAY(
                SELECT (SELECT coalesce(sum(w.votes), 0)::integer FROM chosen w WHERE (w.options >> (o.place - 1)) & 1 = 1)
                FROM generate_series(1, cardinality(k.options)) AS o(place) ORDER BY o.place) AS counts,
            (SELECT coalesce(sum(w.votes), 0)::integer FROM chosen w) AS voters
    ) c WHERE m.changed_seq > :position
) n
