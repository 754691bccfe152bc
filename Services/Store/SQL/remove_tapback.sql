-- Removes the actor's tapback on a message. Without one there is nothing to remove, which is no problem.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the message
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{visible_target},
{present_tapback},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM present) AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN t.seq IS NULL THEN {Problem.notFound}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
removed AS (
    DELETE FROM store.tapbacks r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :subject AND r.user_id = :actor
),
counted AS (
    UPDATE store.messages m
    SET {tapbacks_counted(kind => NULL::text, added => -1, seq => moved.last_seq)}
    FROM moved LEFT JOIN present p ON true
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.tapbackRemoved}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
