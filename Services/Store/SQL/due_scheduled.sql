-- Who has a message in which conversation whose time has come, in some slots of users, a few of each slot. Those that wait longest come
-- first.
--
-- :slots smallint[]
--
-- > user_id         text
-- > conversation_id uuid
-- > lag             bigint    how long the first of them waits, in milliseconds
SELECT d.user_id, d.conversation_id, (extract(epoch FROM max(d.lag)) * 1000)::bigint AS lag
FROM unnest(:slots) AS s (slot)
CROSS JOIN LATERAL (
    SELECT x.user_id, x.conversation_id, n.now - x.at AS lag FROM (SELECT {ChangeTime.now} AS now) n CROSS JOIN LATERAL (
        SELECT x.user_id, x.conversation_id, x.at FROM store.scheduled x
        WHERE x.user_slot = s.slot AND x.problem IS NULL AND x.at <= n.now
          AND NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = s.slot AND e.user_id = x.user_id)
        ORDER BY x.at LIMIT {ScheduledSending.atOneLook}
    ) x
    OFFSET 0
) d
GROUP BY d.user_id, d.conversation_id
ORDER BY max(d.lag) DESC LIMIT {ScheduledSending.atOneLook}
