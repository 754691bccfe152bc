-- What is set of the message in row `m` when the tapback of a user is replaced or removed, with their present one in the row
-- `p`, whose kind is NULL if there is none. Up to as many as are named all are read anyway, and no counts are kept.
--
-- :slot
-- :kind        NULL: it is removed
-- :added       how many more there are then: 1, 0 or -1
-- :seq         the position of the change
changed_seq = :seq, tapbacks_seq = :seq, tapback_count = m.tapback_count + :added,
        tapbacks_counted = CASE WHEN m.tapback_count >= {ContractLimits.namedTapbacks} THEN m.tapback_count + :added END,
        tapback_counts = CASE WHEN m.tapback_count >= {ContractLimits.namedTapbacks} THEN (
            SELECT CASE WHEN :kind IS NULL THEN o.counts
                ELSE o.counts || jsonb_build_object(:kind, coalesce((o.counts ->> :kind)::bigint, 0) + 1) END
            FROM (
                -- Without the present one.
                SELECT CASE
                    WHEN p.kind IS NULL THEN b.counts
                    WHEN (b.counts ->> p.kind)::bigint > 1
                        THEN b.counts || jsonb_build_object(p.kind, (b.counts ->> p.kind)::bigint - 1)
                    ELSE b.counts - p.kind END AS counts
                FROM (SELECT {tapback_counts(position => {Int64.max})} AS counts OFFSET 0) b
                OFFSET 0
            ) o) END
