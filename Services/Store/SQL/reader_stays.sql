-- Where a reader's stays in a conversation begin and end, the position of the conversation, and whether they hid anything
-- in it.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
--
-- > last_seq  bigint    of the conversation
-- > first_seq bigint    of the stay: what was cleared is not in it
-- > end_seq   bigint    of the stay; of one that lasts the highest there is
-- > hides     boolean
SELECT c.last_seq, greatest(s.joined_seq, s.cleared_seq + 1) AS first_seq, coalesce(s.left_seq, {Int64.max}) AS end_seq,
    EXISTS (
        SELECT FROM store.hidden d
        WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :reader) AS hides
FROM store.conversations c, store.memberships s
WHERE c.slot = :slot AND c.id = :conversation
  AND s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
