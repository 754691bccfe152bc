-- A row, if a user is erased.
--
-- :user_slot smallint
-- :user      text
SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user
