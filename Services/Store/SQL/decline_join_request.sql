-- Declines what somebody asks who wants to join, or takes it back. Owners and admins decline, and who asked takes back their own.
-- Nobody is told, and it takes no position. What was declined stays, so that it is not asked again at once, and what was taken
-- back, so that its use counts once.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       a hash of the user's name
-- :user         text
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
request AS MATERIALIZED (
    SELECT r.is_withdrawn FROM store.join_requests r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user AND {is_kept_join_request}
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
                THEN {Problem.unauthenticated}
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN :user = :actor AND (standing.was_member OR EXISTS (SELECT FROM request)) THEN {Problem.none}
            WHEN NOT standing.was_member AND {is_imported_member(user => :actor)} THEN {Problem.conflict}
            WHEN NOT standing.was_member THEN {Problem.notFound}
            WHEN NOT standing.is_member OR standing.role = {MemberRole.member} THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM conversation c, verdict v WHERE v.is_due
),
{keep_outcome},
ended AS (
    UPDATE store.join_requests r
    SET is_declined = r.is_declined OR :user <> :actor, is_withdrawn = :user = :actor
    FROM moved, request
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user AND NOT request.is_withdrawn
)
SELECT {write_result(positions => 0, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
