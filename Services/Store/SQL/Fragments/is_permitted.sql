-- Whether a role may do something in a group. A permission is the number of the lowest role that may.
--
-- :permissions
-- :bits         where in them the permission stands
-- :role         MemberRole
(((:permissions) >> :bits & 3) IN ({PermittedRoles.members}, :role) OR :role = {MemberRole.owner})
