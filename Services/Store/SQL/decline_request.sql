-- Declines a request of the actor: what they see of the conversation ends with the last position. To the others nothing happens
-- (`shadows`): nothing takes a position, and the conversation's row does not change.
--
-- Locks: the actor's stream (lock_streams), under which requests are made.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
request AS MATERIALIZED (
    SELECT r.is_waiting FROM store.requests r
    WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation
      AND EXISTS (  -- Else they were taken out since.
          SELECT FROM store.shadows s
          WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq IS NULL)
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM request r WHERE r.is_waiting) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
                THEN {Problem.unauthenticated}
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN NOT EXISTS (SELECT FROM request) THEN CASE
                WHEN standing.is_member THEN {Problem.conflict}
                WHEN standing.was_member THEN {Problem.forbidden}
                ELSE {Problem.notFound} END
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM store.conversations c, verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
),
{keep_outcome},
closed AS (
    UPDATE store.memberships s SET left_seq = greatest(moved.last_seq, s.joined_seq), left_at = moved.announced_at FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq = {RequestsStatement.end}
),
declined AS (
    UPDATE store.requests r SET is_waiting = false, is_declined = true FROM moved
    WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq) SELECT :actor_slot, :actor, 1 FROM moved
    ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, is_waiting)
    SELECT :actor_slot, :actor, stream.last_useq, {PrivateKind.request}, moved.announced_at, :slot, :conversation, false
    FROM stream, moved
)
SELECT {write_result(positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
