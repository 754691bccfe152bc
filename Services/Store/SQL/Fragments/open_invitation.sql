-- CTE `invitation`: the invitation that a code opens to a user, one row or none. There is none for whoever is banned or blocked by
-- who made it, just as where there is no such code: they are to learn nothing by it. It is as good as its maker's right to add
-- members. (Their blocks are in the slot of their name, which is noted with the invitation.)
--
-- :slot
-- :conversation
-- :user
-- :code_hash
invitation AS MATERIALIZED (
    SELECT i.id, i.created_at, i.needs_approval, s.role AS creator_role FROM store.invitations i
    JOIN store.conversations c ON c.slot = :slot AND c.id = :conversation
    JOIN store.memberships s ON s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = i.creator_id AND s.left_seq IS NULL
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.code_hash = :code_hash AND {is_good_invitation}
      AND {is_permitted(permissions => c.permissions, bits => {GroupPermissions.addMembers}, role => s.role)}
      AND NOT EXISTS (
        SELECT FROM store.bans b WHERE b.slot = :slot AND b.conversation_id = :conversation AND b.user_id = :user)
      AND NOT EXISTS (
        SELECT FROM store.blocks b
        WHERE b.user_slot = i.creator_slot AND b.user_id = i.creator_id AND b.blocked_id = :user
        OFFSET 0)  -- Looked up in that slot: a join would read every one.
)
