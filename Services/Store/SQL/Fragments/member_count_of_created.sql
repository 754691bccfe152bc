-- The member count of a feed that may hold the creation of its conversation: of the change `f` that is one, the count as of
-- a position, else the present one.
--
-- :slot
-- :conversation
-- :position
CASE WHEN f.kind = {ChangeKind.conversationCreated}
    THEN {member_count_as_of(present => p.member_count)}
    ELSE p.member_count END
