-- Whether a user has asked to join, as far as they know: what was declined goes on waiting to them.
--
-- :slot
-- :conversation
-- :user
EXISTS (
    SELECT FROM store.join_requests r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user AND {is_kept_join_request}
      AND NOT r.is_withdrawn)
