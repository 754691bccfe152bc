-- Revokes an invitation: nobody joins by it any more. Owners and admins revoke any, members their own. Nobody is told, and it takes
-- no position.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the invitation
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN standing.role = {MemberRole.member} AND EXISTS (
                SELECT FROM store.invitations i
                WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id = :subject AND i.creator_id <> :actor)
                THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM conversation c, verdict v WHERE v.is_due
),
{keep_outcome},
revoked AS (
    DELETE FROM store.invitations i USING moved
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id = :subject
)
SELECT {write_result(positions => 0, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
