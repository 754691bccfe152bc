-- Somebody whose blocks, or whose private changes about blocks, name a user.
--
-- :user text
--
-- > user_id text
(SELECT b.user_id FROM store.blocks b WHERE b.blocked_id = :user LIMIT 1)
UNION ALL
(SELECT h.user_id FROM store.user_changes h WHERE h.about_id = :user LIMIT 1)
LIMIT 1
