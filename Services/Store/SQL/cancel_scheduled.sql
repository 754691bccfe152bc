-- Forgets a message that its author has scheduled, or that could not be sent. Former members do it, too. Success says that there is no
-- message of this id by the user, and that none will come of what was scheduled; a conflict, that it was sent.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the message
-- :message      uuid
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
present AS MATERIALIZED (
    SELECT s.message_id FROM store.scheduled s
    WHERE s.user_slot = :actor_slot AND s.user_id = :actor AND s.conversation_id = :conversation AND s.message_id = :message
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM present) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            -- Whoever has forgotten that they were here cancels what is left of it, too.
            WHEN p.problem IS NULL AND EXISTS (SELECT FROM present) AND NOT EXISTS (
                SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor) THEN {Problem.none}
            {problems_of_actor}
            -- Sent by another way meanwhile.
            WHEN EXISTS (
                SELECT FROM store.messages m
                WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :message AND m.sender_id = :actor)
                THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    SELECT 0::bigint AS last_seq, {ChangeTime.now} AS announced_at FROM verdict v WHERE v.is_due
),
{keep_outcome},
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.scheduled}, message => :message, seq => NULL::bigint,
    unlisted => 0, source => moved)},
cancelled AS (
    DELETE FROM store.scheduled s USING moved
    WHERE s.user_slot = :actor_slot AND s.user_id = :actor AND s.conversation_id = :conversation AND s.message_id = :message
)
SELECT {write_result(positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
