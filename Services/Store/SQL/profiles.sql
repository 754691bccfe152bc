-- The profiles of users, in the order of the request, as far as the reader may read them: those whose version differs from
-- the one that the reader has. Version 0 stands for no profile, and for one that the reader may not read: nothing tells these
-- apart, so the right to read is worked out first, and whatever version was named.
--
-- The rule: one reads one's own profile, and those of all whose stay in a conversation overlaps one of one's own stays in it.
-- These are the people whom one meets there now, and those whose messages one sees. A stay of somebody else is what all but
-- its user see of it (appearances), so neither who is blocked nor anybody else learns of a block.
--
-- Of two users the list of the one with few conversations is walked. Whoever has many is in it with most who ask, and
-- those who ask are then the ones with few.
--
-- :user_slot  smallint   of the reader
-- :user       text       the reader
-- :reads_all  boolean    an administrator
-- :user_slots smallint[]
-- :users      text[]
-- :versions   bigint[]   0: the reader has none
--
-- > user_id      text
-- > version      bigint
-- > display_name text     or NULL, as the following
-- > avatar_url   text
-- > extra        text
SELECT u.user_id, coalesce(p.version, 0) AS version, p.display_name, p.avatar_url, p.extra
FROM unnest(:user_slots, :users, :versions) WITH ORDINALITY AS u(user_slot, user_id, version, place)
CROSS JOIN LATERAL (
    SELECT count(*) < {ProfileStatements.fewConversations} AS has_few FROM (
        SELECT FROM store.inbox i WHERE i.user_slot = u.user_slot AND i.user_id = u.user_id
        UNION ALL
        SELECT FROM store.shadow_listings l WHERE l.user_slot = u.user_slot AND l.user_id = u.user_id
        LIMIT {ProfileStatements.fewConversations}) i
) size
CROSS JOIN LATERAL (
    SELECT :reads_all OR u.user_id = :user OR EXISTS (
        SELECT FROM (
            SELECT mine.slot, mine.conversation_id FROM (
                SELECT i.conversation_id FROM store.inbox i
                WHERE size.has_few AND i.user_slot = u.user_slot AND i.user_id = u.user_id
                UNION ALL
                SELECT l.conversation_id FROM store.shadow_listings l
                WHERE size.has_few AND l.user_slot = u.user_slot AND l.user_id = u.user_id
            ) theirs
            CROSS JOIN LATERAL (
                SELECT i.slot, i.conversation_id FROM store.inbox i
                WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = theirs.conversation_id
                UNION ALL
                SELECT q.slot, q.conversation_id FROM store.requests q
                WHERE q.user_slot = :user_slot AND q.user_id = :user AND q.conversation_id = theirs.conversation_id
                  AND q.is_waiting
                LIMIT 1
            ) mine
            UNION ALL
            SELECT i.slot, i.conversation_id FROM store.inbox i
            WHERE NOT size.has_few AND i.user_slot = :user_slot AND i.user_id = :user
            UNION ALL
            SELECT q.slot, q.conversation_id FROM ({shown_requests}) q WHERE NOT size.has_few
        ) shared
        CROSS JOIN LATERAL (
            SELECT FROM store.memberships r
            JOIN store.published_appearances s
                ON s.slot = r.slot AND s.conversation_id = r.conversation_id AND s.user_id = u.user_id
                AND s.joined_seq <= coalesce(r.left_seq, {Int64.max}) AND r.joined_seq <= coalesce(s.left_seq, {Int64.max})
            WHERE r.slot = shared.slot AND r.conversation_id = shared.conversation_id AND r.user_id = :user LIMIT 1
        ) overlap
    ) AS may
    OFFSET 0
) reading
LEFT JOIN LATERAL (
    SELECT p.version, p.display_name, p.avatar_url, p.extra FROM store.profiles p
    WHERE reading.may AND p.user_slot = u.user_slot AND p.user_id = u.user_id
) p ON true
WHERE coalesce(p.version, 0) <> u.version
ORDER BY u.place
