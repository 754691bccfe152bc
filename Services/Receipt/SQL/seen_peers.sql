-- On Citus: when users were last online, those of them who show it.
--
-- :user_slots smallint[]
-- :users      text[]
--
-- > user_id text
-- > seen_at timestamptz
SELECT l.user_id, l.seen_at FROM unnest(:user_slots, :users) AS p (user_slot, user_id)
CROSS JOIN LATERAL (
    SELECT l.* FROM receipt.last_seen l WHERE l.user_slot = p.user_slot AND l.user_id = p.user_id OFFSET 0
) l
WHERE coalesce((SELECT s.presence FROM store.published_user_settings s
                WHERE s.user_id = l.user_id AND s.user_slot = l.user_slot), true)
