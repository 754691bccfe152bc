-- The start of a round of `sync`: the history's identity, the position of the user's private stream, and the lowest
-- transaction that is still running.
--
-- :user      text
-- :user_slot smallint
--
-- > log_id      uuid
-- > last_useq   bigint
-- > transaction bigint
SELECT d.log_id,
    coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = :user_slot AND u.user_id = :user), 0)
        AS last_useq,
    pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS transaction
FROM store.deployment d
