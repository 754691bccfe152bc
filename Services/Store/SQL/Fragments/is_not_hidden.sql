-- Whether a reader has not hidden a message. By a scalar subquery, which stays one look-up in the index: of NOT EXISTS the
-- planner, expecting few rows, makes a join that reads all that the user has hidden for each message. (41,000 of them times
-- 1,024 messages took 57 s.)
--
-- :slot
-- :conversation
-- :reader
-- :seq
(SELECT true FROM store.hidden d
 WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :reader AND d.seq = :seq
 LIMIT 1) IS NULL
