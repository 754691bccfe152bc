-- Messages that a reader sees, with all that belongs to them: parents, tapbacks, events, and the texts of then where the
-- reader has left since. Few messages have any, and PostgreSQL prepares every node of a statement each time it runs, used
-- or not: so these are asked for where the rows alone do not tell all (`HistoryRows`).
--
-- It is read behind a page's snapshot, as of the page's position. What may differ is a deletion, or a tapback that was
-- taken back, since: then the change that tells so lies behind that position, and says it once more.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :seqs         bigint[]
-- :position     bigint
--
-- > {message_with_parent}
SELECT {message_with_parent}
FROM store.messages m
LEFT JOIN LATERAL ({parent_of_reply}) parent ON true
WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.seq = ANY (:seqs)
