-- The first conditions of the CASE that decides on a write. Erased users leave nothing new behind, not even an outcome; a
-- repetition has the outcome it had, that of the row `p` of `prior`. While the conversation is imported, nobody else writes
-- into it. The subquery that it stands in ends with OFFSET 0: otherwise the planner takes it apart, and each use of the
-- problem has all of its look-ups.
--
-- :slot
-- :conversation
-- :actor
-- :actor_slot
WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
    THEN {Problem.unauthenticated}
WHEN p.problem IS NOT NULL THEN p.problem
WHEN NOT standing.was_member AND {is_imported_member(user => :actor)} THEN {Problem.conflict}
WHEN NOT standing.was_member THEN {Problem.notFound}
