-- The first conditions of the CASE that decides on a write. Erased users leave nothing new behind, not even an outcome; a
-- repetition has the outcome it had. While the conversation is imported, nobody else writes into it.
--
-- :slot
-- :conversation
-- :actor
-- :actor_slot
WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
    THEN {Problem.unauthenticated}
WHEN EXISTS (SELECT FROM prior) THEN (SELECT p.problem FROM prior p)
WHEN NOT standing.was_member AND {is_imported_member(user => :actor)} THEN {Problem.conflict}
WHEN NOT standing.was_member THEN {Problem.notFound}
