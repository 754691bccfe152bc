-- The position of the next removal of a member after the change `f`, or that of the conversation `p`.
--
-- :slot
-- :conversation
coalesce((SELECT r.seq FROM store.changes r
 WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.kind = {ChangeKind.memberRemoved} AND r.seq > f.seq
 ORDER BY r.seq LIMIT 1), p.last_seq)
