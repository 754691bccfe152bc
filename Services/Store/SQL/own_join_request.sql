-- What a user has asked. No row: they have not, or are a member.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
--
-- > requested_at timestamptz
SELECT r.requested_at FROM store.join_requests r
WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :reader
