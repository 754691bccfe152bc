-- Counts a vote in its poll, in place of the one that is in the CTE `present`.
--
-- :slot
-- :conversation
-- :subject       the message
-- :options       a bit for each; 0: none
UPDATE store.polls p
SET counts = ARRAY(
        SELECT p.counts[o.place] + ((:options >> (o.place - 1)) & 1) - ((n.options >> (o.place - 1)) & 1)
        FROM generate_series(1, cardinality(p.counts)) AS o(place) ORDER BY o.place),
    voters = p.voters + (:options > 0)::integer - (n.options > 0)::integer
FROM moved, present n WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = :subject
