-- CTEs `stream` and `private_change`: a private change of a user, of no conversation, if `changed` has a row. The stream is locked
-- before (begin_streams, lock_streams).
--
-- :user
-- :user_slot
-- :kind         PrivateKind
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
    SELECT :user_slot, :user, 1 FROM changed
    ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
    RETURNING last_useq, {ChangeTime.now} AS at
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at)
    SELECT :user_slot, :user, last_useq, :kind, at FROM stream
)
