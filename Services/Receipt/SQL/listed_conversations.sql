-- On Citus: the conversations that a user may have peers in, if the user shows when they are online. Those who do not are shown
-- nobody.
--
-- :user      text
-- :user_slot smallint
--
-- > conversation_id uuid
SELECT i.conversation_id FROM store.published_inbox i
WHERE i.user_slot = :user_slot AND i.user_id = :user
  AND coalesce((SELECT s.presence FROM store.published_user_settings s
                WHERE s.user_id = :user AND s.user_slot = :user_slot), true)
LIMIT {LastSeenStatements.conversationsLimit}
