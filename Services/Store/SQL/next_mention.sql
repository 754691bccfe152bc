-- A conversation that mentions a user, who never was in it.
--
-- :user text
--
-- > conversation_id uuid
-- > after           bigint    the position before the first mention
SELECT m.conversation_id, min(m.seq) - 1 AS after FROM store.messages m
WHERE m.mentions IS NOT NULL AND m.mentions @> ARRAY[:user]
GROUP BY m.conversation_id LIMIT 1
