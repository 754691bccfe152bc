-- The suspension of a user that is in force.
--
-- :user      text
-- :user_slot smallint
--
-- > mode   smallint
-- > since  timestamptz
-- > until  timestamptz    NULL: for ever
-- > reason text           or NULL
SELECT s.mode, s.since, s.until, s.reason FROM store.suspensions s
WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.mode > 0
  AND (s.until IS NULL OR s.until > (SELECT {ChangeTime.now}))
