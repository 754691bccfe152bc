-- CTEs: what became of the write, kept for its repetitions (see prior_outcome). Not if it waits for something: then it is
-- repeated until it can be decided.
--
-- :slot
-- :conversation
-- :actor
-- :actor_slot
-- :known_by
-- :action
-- :subject
kept AS (
    INSERT INTO store.outcomes (user_slot, user_id, key, action, conversation_id, subject, problem, at)
    SELECT :actor_slot, :actor, :known_by[1], :action, :conversation, :subject, v.problem, {ChangeTime.now}
    FROM verdict v
    WHERE :known_by[1] IS NOT NULL AND NOT v.is_repeat
      AND v.problem NOT IN ({Problem.unauthenticated}, {Problem.unavailable}, {Problem.rateLimited})
),
kept_awhile AS (
    INSERT INTO store.recent_outcomes (slot, request, problem, at)
    SELECT :slot, :known_by[2], v.problem, {ChangeTime.now} FROM verdict v
    WHERE :known_by[2] IS NOT NULL AND NOT v.is_repeat
)
