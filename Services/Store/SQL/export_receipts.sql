-- A page of the receipts of a conversation for an export: each advance of a user, by user and time, with the last message that
-- it passed and the export has. Of those at one time the last one says the most.
--
-- The runs of a user and a kind are in the order of their positions and of their times at once, so those of the kinds are
-- merged: of each, no more are read than a page holds, from where the page before came to. Users are taken one after the
-- other until the page is full: the nested loop keeps their order, and ends with the limit.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text        whose own receipts alone are read; NULL: all
-- :state        bigint      the position whose state is exported
-- :user         text        whom the page before ended with; empty: from the start
-- :delivered    bigint      the position of their last run of this kind on a page before; 0: none
-- :read         bigint
-- :both         bigint
-- :limit        bigint
--
-- > user_id    text
-- > at         timestamptz
-- > kind       smallint    RunKind
-- > seq        bigint
-- > message_id uuid        NULL: there is none
-- > created_at timestamptz of the message
WITH {stays_of_reader},
page AS MATERIALIZED (
    SELECT u.user_id, r.at, r.from_seq, r.to_seq, r.kind FROM (
        SELECT h.user_id FROM receipt.published_horizons h
        WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id >= greatest(:user, coalesce(:reader, ''))
          AND (:reader IS NULL OR h.user_id = :reader)
        ORDER BY h.user_id
        OFFSET 0
    ) u CROSS JOIN LATERAL (
        SELECT * FROM (
            (SELECT r.at, r.from_seq, r.to_seq, r.kind FROM receipt.published_receipt_runs r
             WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = u.user_id
               AND r.kind = {RunKind.delivered} AND r.to_seq > CASE WHEN u.user_id = :user THEN :delivered ELSE 0 END
             ORDER BY r.to_seq LIMIT :limit)
            UNION ALL
            (SELECT r.at, r.from_seq, r.to_seq, r.kind FROM receipt.published_receipt_runs r
             WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = u.user_id
               AND r.kind = {RunKind.read} AND r.to_seq > CASE WHEN u.user_id = :user THEN :read ELSE 0 END
             ORDER BY r.to_seq LIMIT :limit)
            UNION ALL
            (SELECT r.at, r.from_seq, r.to_seq, r.kind FROM receipt.published_receipt_runs r
             WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = u.user_id
               AND r.kind = {RunKind.both} AND r.to_seq > CASE WHEN u.user_id = :user THEN :both ELSE 0 END
             ORDER BY r.to_seq LIMIT :limit)
        ) r
        ORDER BY r.at, r.kind <> {RunKind.delivered}, r.to_seq LIMIT :limit
    ) r
    LIMIT :limit
)
SELECT p.user_id, p.at, p.kind, p.to_seq AS seq, m.id AS message_id, m.created_at
FROM page p LEFT JOIN LATERAL (
    SELECT m.id, m.created_at FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq BETWEEN p.from_seq AND least(p.to_seq, :state)
      AND m.kind <> {MessageKind.system} AND (:reader IS NULL OR m.sender_id = :reader OR (
        SELECT true FROM stays s WHERE m.seq BETWEEN s.first_seq AND s.last_seq LIMIT 1) IS NOT NULL
        AND {is_not_hidden(seq => m.seq)})
    ORDER BY m.seq DESC LIMIT 1
) m ON true
ORDER BY p.user_id, p.at, p.kind <> {RunKind.delivered}, p.to_seq
