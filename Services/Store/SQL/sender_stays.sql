-- The stays of senders in a conversation, and how far they are themselves.
--
-- :slot         smallint
-- :conversation uuid
-- :senders      text[]
--
-- > user_id       text
-- > joined_seq    bigint
-- > left_seq      bigint
-- > delivered_seq bigint
-- > shown_seq     bigint
SELECT s.user_id, s.joined_seq, coalesce(s.left_seq, {Int64.max}) AS left_seq, h.delivered_seq, h.shown_seq
FROM store.published_appearances s
JOIN receipt.published_horizons h
    ON h.slot = s.slot AND h.conversation_id = s.conversation_id AND h.user_id = s.user_id
WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = ANY (:senders)
