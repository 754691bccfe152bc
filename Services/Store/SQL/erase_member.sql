-- An erased user leaves a conversation, a direct one too, and one that they have closed or of which they know nothing. Where
-- the last owner goes, another one follows as in remove_member.sql, at a position of its own behind the removal.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       a hash of the user's name
-- :user         text       the actor
-- :user_slot    smallint
--
-- > {write_result}
WITH {prior_outcome},
{conversation_written_to},
{stay_of_user},
{next_owner},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM stay) AS is_due
    FROM (VALUES (1)) one LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN NOT EXISTS (
                SELECT FROM store.published_appearances s
                WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user) THEN {Problem.notFound}
            WHEN NOT EXISTS (SELECT FROM stay) THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{take_out_member},
{keep_outcome}
SELECT {write_result(
    positions => (SELECT 1 + count(*) FROM next_owner), useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
