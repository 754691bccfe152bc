-- Removes when an erased user was last online.
--
-- :user_slot smallint
-- :user      text
DELETE FROM receipt.last_seen l WHERE l.user_slot = :user_slot AND l.user_id = :user
