-- The stays of all but a sender in a small conversation, and how far each is, as far as others may see. No row: there are
-- more members than the limit, or the sender has left (former_receipt_counts).
--
-- :slot         smallint
-- :conversation uuid
-- :sender       text
-- :limit        bigint
--
-- > joined_seq    bigint
-- > left_seq      bigint
-- > delivered_seq bigint
-- > shown_seq     bigint
SELECT s.joined_seq, coalesce(s.left_seq, {Int64.max}) AS left_seq, coalesce(h.delivered_seq, 0) AS delivered_seq,
    coalesce(h.shown_seq, 0) AS shown_seq
FROM store.published_appearances s
-- Each looked up on its own (OFFSET 0): the planner would read all horizons, those of former members, too.
LEFT JOIN LATERAL (
    SELECT h.delivered_seq, h.shown_seq FROM receipt.published_horizons h
    WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = s.user_id
    OFFSET 0
) h ON true
WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id <> :sender
  AND (SELECT c.member_count <= :limit FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation)
  AND (SELECT true FROM store.memberships o
       WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.user_id = :sender AND o.left_seq IS NULL)
LIMIT :limit
