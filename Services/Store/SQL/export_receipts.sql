-- A page of the receipts of a conversation for an export: each advance of a user, by user and time, with the last message that
-- it passed and the export has. Of those at one time the last one says the most.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text        whose own receipts alone are read; NULL: all
-- :state        bigint      the position whose state is exported
-- :user         text        the last row of the page before; empty: from the start
-- :at           timestamptz
-- :kind         smallint    RunKind: delivered or read
-- :seq          bigint
-- :limit        bigint
--
-- > user_id    text
-- > at         timestamptz
-- > kind       smallint    RunKind: delivered or read
-- > seq        bigint
-- > message_id uuid        NULL: there is none
-- > created_at timestamptz of the message
WITH {stays_of_reader},
page AS MATERIALIZED (
    SELECT * FROM (
        SELECT r.user_id, r.at, r.from_seq, r.to_seq, CASE r.kind WHEN {RunKind.delivered} THEN {RunKind.delivered}
            ELSE {RunKind.read} END::smallint AS kind
        FROM receipt.published_receipt_runs r
        WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id >= :user
          AND (:reader IS NULL OR r.user_id = :reader)
    ) r
    WHERE (r.user_id, r.at, r.kind, r.to_seq) > (:user, :at, :kind, :seq)
    ORDER BY r.user_id, r.at, r.kind, r.to_seq LIMIT :limit
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
ORDER BY p.user_id, p.at, p.kind, p.to_seq
