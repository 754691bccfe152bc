-- The stay of a reader who is in the conversation of `i`, one row or none: what {member_conversation} begins with.
--
-- :reader
SELECT s.joined_seq, s.role, s.cleared_seq FROM store.memberships s
WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = :reader AND s.left_seq IS NULL
OFFSET 0
