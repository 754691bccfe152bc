-- A page of those who ask to join a conversation, by name, for a reader who decides. No row: the reader never was a member. One row
-- without a name: the page is empty.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :after        text        the last user of the page before
-- :limit        bigint
--
-- > role         smallint    MemberRole of the reader; NULL: no member
-- > user_id      text        or NULL, like all that follows
-- > requested_at timestamptz
-- > inviter_id   text        or NULL: there is no such invitation any more
SELECT s.role, r.user_id, r.requested_at, r.inviter_id
FROM (
    SELECT max(s.role) FILTER (WHERE s.left_seq IS NULL) AS role FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
    HAVING count(*) > 0
) s
LEFT JOIN LATERAL (
    SELECT r.user_id, r.requested_at, (
        SELECT i.creator_id FROM store.invitations i
        WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id = r.invitation_id
          AND i.created_at <= r.requested_at  -- The same id may be used again.
    ) AS inviter_id
    FROM store.join_requests r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id > :after AND s.role <> {MemberRole.member}
      AND {is_waiting_join_request}
    ORDER BY r.user_id LIMIT :limit
) r ON true
ORDER BY r.user_id
