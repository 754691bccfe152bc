-- CTEs: what became of the same request of a user about themselves before (`prior`, one row at most), and what is kept for its
-- repetitions if there is none (see prior_outcome).
--
-- :user
-- :user_slot
-- :known_by
-- :number       the request's, among outcomes of no conversation
prior AS MATERIALIZED (
    -- A repetition locks the outcome, which is a write. Its commit, and therefore the response, waits for a synchronous
    -- standby as the first one did.
    -- The number alone says too little: that of leaving a list is the same.
    SELECT CASE WHEN (o.action, o.conversation_id) = (:number, {PutSettings.conversation}) THEN o.problem
        ELSE {Problem.conflict} END::smallint AS problem
    FROM (
        SELECT * FROM store.outcomes WHERE user_slot = :user_slot AND user_id = :user AND key = :known_by[1]
        FOR NO KEY UPDATE
    ) o
    WHERE NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
    UNION ALL
    SELECT r.problem FROM store.recent_outcomes r
    WHERE r.slot = :user_slot AND r.request = :known_by[2]
      AND NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
    UNION ALL
    SELECT {Problem.unauthenticated}::smallint FROM store.erasures e
    WHERE e.user_slot = :user_slot AND e.user_id = :user
),
kept AS (
    INSERT INTO store.outcomes (user_slot, user_id, key, action, conversation_id, problem, at)
    SELECT :user_slot, :user, :known_by[1], :number, {PutSettings.conversation}, {Problem.none}, {ChangeTime.now}
    WHERE :known_by[1] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
),
kept_awhile AS (
    INSERT INTO store.recent_outcomes (slot, request, problem, at)
    SELECT :user_slot, :known_by[2], {Problem.none}, {ChangeTime.now}
    WHERE :known_by[2] IS NOT NULL AND NOT EXISTS (SELECT FROM prior)
)
