-- Whether a sender, who is a member, may mention everybody in the conversation. A permission of 0 is that of admins.
--
-- :slot
-- :conversation
-- :sender
(SELECT c.kind = {ConversationKind.group} AND (s.role = {MemberRole.owner}
    OR (c.permissions >> {GroupPermissions.mentionAll} & 3) = {PermittedRoles.members}
    OR (c.permissions >> {GroupPermissions.mentionAll} & 3) = 0 AND s.role = {MemberRole.admin})
 FROM store.conversations c, store.memberships s
 WHERE c.slot = :slot AND c.id = :conversation
   AND s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :sender AND s.left_seq IS NULL
 LIMIT 1)
