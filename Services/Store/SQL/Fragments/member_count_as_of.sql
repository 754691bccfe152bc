-- The number of members at a position, as noted with the removal there. If it was not noted, or there is no removal, it is
-- the present count less the members who joined since, plus those who left since.
--
-- :slot
-- :conversation
-- :present         the present count
-- :position
coalesce((SELECT e.member_count FROM store.changes e
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.seq = :position),
    (:present - (SELECT count(*) FROM store.changes n
                 WHERE n.slot = :slot AND n.conversation_id = :conversation AND n.kind = {ChangeKind.memberAdded}
                   AND n.seq > :position)
              + (SELECT count(*) FROM store.changes n
                 WHERE n.slot = :slot AND n.conversation_id = :conversation AND n.kind = {ChangeKind.memberRemoved}
                   AND n.seq > :position))::int)
