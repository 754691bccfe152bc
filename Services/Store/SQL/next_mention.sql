-- A conversation that mentions a user who never was in it, or has messages forwarded from them.
--
-- :user text
--
-- > conversation_id uuid
-- > after           bigint    the position before the first
(SELECT m.conversation_id, min(m.seq) - 1 AS after FROM store.messages m
 WHERE m.mentions IS NOT NULL AND m.mentions @> ARRAY[:user]
 GROUP BY m.conversation_id LIMIT 1)
UNION ALL
(SELECT m.conversation_id, m.seq - 1 AS after FROM store.messages m WHERE m.forwarded_by = :user
 ORDER BY m.conversation_id, m.seq LIMIT 1)
LIMIT 1
