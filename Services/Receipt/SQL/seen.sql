-- Keeps that users are online in this minute. Writes nothing for a user already seen in it, one who hides it or is being
-- erased, or one in no conversation (nobody could see them). Writes in the order of the keys, so that no two wait for each
-- other.
--
-- :user_slots smallint[]
-- :users      text[]
INSERT INTO receipt.last_seen AS l (user_slot, user_id, seen_at)
SELECT DISTINCT i.user_slot, i.user_id, date_trunc('minute', (SELECT {ChangeTime.now}))
FROM unnest(:user_slots, :users) AS i (user_slot, user_id)
WHERE coalesce((SELECT s.presence FROM store.published_user_settings s
                WHERE s.user_slot = i.user_slot AND s.user_id = i.user_id), true)
  AND NOT EXISTS (SELECT FROM store.published_erasures e WHERE e.user_slot = i.user_slot AND e.user_id = i.user_id)
  AND EXISTS (SELECT FROM store.published_inbox n WHERE n.user_slot = i.user_slot AND n.user_id = i.user_id)
ORDER BY i.user_id
ON CONFLICT (user_id, user_slot) DO UPDATE SET seen_at = excluded.seen_at WHERE l.seen_at < excluded.seen_at
