-- The two present members who are farthest behind, the farthest first, and all former ones who lack one of some messages.
--
-- :slot         smallint
-- :conversation uuid
-- :kind         smallint    RunKind: delivered or read
-- :first        bigint      the positions of the messages
-- :last         bigint
--
-- > user_id  text
-- > reached  bigint
-- > left_seq bigint    NULL of a present member
WITH members AS MATERIALIZED (
    SELECT s.user_id, s.left_seq, greatest(
        s.joined_seq, CASE :kind WHEN {RunKind.delivered} THEN h.delivered_seq ELSE h.shown_seq END) AS reached
    FROM store.published_appearances s
    LEFT JOIN receipt.horizons h
        ON h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = s.user_id
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.joined_seq < :last
      AND (s.left_seq IS NULL OR s.left_seq > :first)
)
(SELECT user_id, reached, left_seq FROM members WHERE left_seq IS NULL AND reached < :last
 ORDER BY reached LIMIT 2)
UNION ALL
(SELECT user_id, reached, left_seq FROM members WHERE left_seq > reached ORDER BY reached)
