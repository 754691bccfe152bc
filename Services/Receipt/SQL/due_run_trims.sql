-- A page of the horizons in some slots, and of which there are so many runs before what the conversation keeps that some can go:
-- the last of them stays, and for whoever has left one more at most (trim_runs).
--
-- :after_conversation uuid        of the last row of the page before
-- :after_user         text
-- :slots              smallint[]
--
-- > conversation_id uuid
-- > user_id         text
-- > kept_from       bigint    NULL: none can go
WITH page AS MATERIALIZED (
    SELECT h.slot, h.conversation_id, h.user_id FROM receipt.horizons h
    WHERE (h.conversation_id, h.user_id) > (:after_conversation, :after_user) AND h.slot = ANY (:slots)
    ORDER BY h.conversation_id, h.user_id LIMIT {ReceiptRetention.horizonsPerLook}
), trimmed AS MATERIALIZED (
    SELECT c.slot, c.id AS conversation_id, c.kept_from, (
            SELECT count(*) FROM (
                SELECT FROM store.published_memberships m
                WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.left_seq IS NOT NULL
                LIMIT {ReceiptRetention.endsLimit} + 1
            ) m
        ) AS ends
    FROM (SELECT DISTINCT p.slot, p.conversation_id FROM page p) p
    CROSS JOIN LATERAL (
        SELECT c.slot, c.id, c.kept_from FROM store.published_conversations c
        WHERE c.slot = p.slot AND c.id = p.conversation_id AND c.kept_from IS NOT NULL
        OFFSET 0
    ) c
)
SELECT p.conversation_id, p.user_id, (
        SELECT t.kept_from FROM trimmed t
        WHERE t.slot = p.slot AND t.conversation_id = p.conversation_id AND t.ends <= {ReceiptRetention.endsLimit}
          AND EXISTS (
            SELECT FROM (VALUES ({RunKind.delivered}::smallint), ({RunKind.read}::smallint), ({RunKind.both}::smallint)) AS k (kind)
            CROSS JOIN LATERAL (
                SELECT FROM receipt.receipt_runs r
                WHERE r.slot = p.slot AND r.conversation_id = p.conversation_id AND r.user_id = p.user_id
                  AND r.kind = k.kind AND r.to_seq < t.kept_from
                ORDER BY r.to_seq DESC OFFSET 1 + t.ends LIMIT 1
            ) r
        )
    ) AS kept_from
FROM page p ORDER BY p.conversation_id, p.user_id
