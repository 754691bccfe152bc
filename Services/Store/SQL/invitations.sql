-- The invitations of a group that are good, the earliest first: all of them for owners and admins, for members their own. No row:
-- the reader never was a member. One row without an id: there are none.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
--
-- > role           smallint    MemberRole of the reader; NULL: no member
-- > id             uuid        or NULL, like all that follows
-- > creator_id     text
-- > created_at     timestamptz
-- > expires_at     timestamptz NULL: never
-- > max_uses       integer     NULL: any number
-- > uses           integer
-- > needs_approval boolean
SELECT s.role, i.id, i.creator_id, i.created_at, i.expires_at, i.max_uses, i.uses, i.needs_approval
FROM (
    SELECT max(s.role) FILTER (WHERE s.left_seq IS NULL) AS role FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :reader
    HAVING count(*) > 0
) s
LEFT JOIN LATERAL (
    SELECT i.* FROM store.invitations i
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND (s.role <> {MemberRole.member} OR i.creator_id = :reader)
      AND {is_good_invitation}
) i ON true
ORDER BY i.created_at, i.id
