-- Records what an administrator, who need not be in the conversation, did about a report. The last one counts.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text        the administrator
-- :actor_slot   smallint
-- :known_by     uuid[]      see prior_outcome
-- :action       smallint
-- :subject      uuid        the report
-- :done         smallint    ReportAction
-- :note         text        or NULL
--
-- > {write_result}
WITH {prior_outcome},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AS is_due
    FROM (VALUES (1)) one LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN NOT EXISTS (
                SELECT FROM store.reports r
                WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.id = :subject AND {is_kept_report})
                THEN {Problem.notFound}
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
{forgotten_reports},
resolved AS (
    UPDATE store.reports r
    SET is_open = false, action = :done, note = :note, resolver_id = :actor, resolved_at = moved.announced_at
    FROM moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.id = :subject
)
SELECT {write_result(positions => 0, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
