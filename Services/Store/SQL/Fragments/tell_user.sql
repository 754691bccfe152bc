-- CTEs `stream` and `private_change`: a private change of a user, at the time that is announced, too. The stream is locked before
-- (lock_streams).
--
-- :slot
-- :conversation
-- :user
-- :user_slot
-- :kind         PrivateKind
-- :message
-- :seq
-- :unlisted     how many conversations left the user's list
-- :source       what moved, if the user is to be told: `moved`, or rows of it
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
    SELECT :user_slot, :user, 1 FROM :source
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = s.conversation_count - :unlisted,
        unlisted_count = s.unlisted_count + :unlisted
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, message_id, seq)
    SELECT :user_slot, :user, stream.last_useq, :kind, told.announced_at, :slot, :conversation, :message, :seq
    FROM stream, :source AS told
)
