-- The conversations in which others see a user as a member, also those that only the others know of. Of more than a user may
-- have, some.
--
-- :user      text
-- :user_slot smallint
--
-- > conversation_id uuid
SELECT a.conversation_id FROM (
    SELECT i.slot, i.conversation_id FROM store.inbox i WHERE i.user_slot = :user_slot AND i.user_id = :user
    UNION ALL
    SELECT get_byte(uuid_send(l.conversation_id), 15)::smallint, l.conversation_id
    FROM store.shadow_listings l WHERE l.user_slot = :user_slot AND l.user_id = :user
) a
CROSS JOIN LATERAL (
    SELECT FROM store.published_appearances s
    WHERE s.slot = a.slot AND s.conversation_id = a.conversation_id AND s.user_id = :user AND s.left_seq IS NULL LIMIT 1
) s
LIMIT {ProfileStatements.audienceLimit}
