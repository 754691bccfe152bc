-- A page of those who are banned from a conversation, by name, for a reader who may lift it. No row: the reader never was a member.
-- One row without a name: the page is empty.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :after        text        the last user of the page before
-- :limit        bigint
--
-- > role     smallint    MemberRole of the reader; NULL: no member
-- > user_id  text        or NULL, like all that follows
-- > at       timestamptz
-- > actor_id text
SELECT s.role, b.user_id, b.at, b.actor_id
FROM (
    SELECT max(s.role) FILTER (WHERE s.left_seq IS NULL) AS role FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
    HAVING count(*) > 0
) s
LEFT JOIN LATERAL (
    SELECT b.user_id, h.at, h.actor_id FROM (
        SELECT b.user_id, b.seq FROM store.bans b
        WHERE b.slot = :slot AND b.conversation_id = :conversation AND b.user_id > :after AND s.role <> {MemberRole.member}
        ORDER BY b.user_id LIMIT :limit
    ) b
    JOIN store.changes h ON h.slot = :slot AND h.conversation_id = :conversation AND h.seq = b.seq
) b ON true
ORDER BY b.user_id
