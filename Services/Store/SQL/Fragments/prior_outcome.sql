-- CTE `prior`: what became of the same request before, one row at most. What a write is known by when it comes again is two
-- elements, of which one is NULL at least: the client's key, kept for ever, and the request, without a key, kept for as long
-- as the bus may repeat it. A key that was used for another write is a conflict. The writer is alone with a key (lock_keys).
--
-- :slot
-- :conversation
-- :actor
-- :actor_slot
-- :known_by
-- :action
-- :subject
prior AS MATERIALIZED (
    SELECT CASE
        WHEN (o.action, o.conversation_id, o.subject) IS NOT DISTINCT FROM (:action, :conversation, :subject) THEN o.problem
        ELSE {Problem.conflict}
    END AS problem
    FROM store.outcomes o
    WHERE o.user_slot = :actor_slot AND o.user_id = :actor AND o.key = :known_by[1]
    UNION ALL
    SELECT r.problem FROM store.recent_outcomes r WHERE r.slot = :slot AND r.request = :known_by[2]
)
