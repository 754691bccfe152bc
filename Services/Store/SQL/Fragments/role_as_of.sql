-- The role in the stay `s` at a position. The next change of the role says which one was before; without saying so, the
-- other of the two that there were.
--
-- :position
coalesce((SELECT coalesce(n.prior_role, {MemberRole.member} + {MemberRole.owner} - n.role)::smallint FROM store.changes n
    WHERE n.slot = s.slot AND n.conversation_id = s.conversation_id AND n.kind = {ChangeKind.memberChanged}
      AND n.user_id = s.user_id AND n.seq > :position AND n.seq <= coalesce(s.left_seq, n.seq)
    ORDER BY n.seq LIMIT 1), s.role)
