-- Sets how many days messages stay in a conversation. Administrators do it, who need not be in it. The last one counts.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text        the administrator
-- :actor_slot   smallint
-- :known_by     uuid[]      see prior_outcome
-- :action       smallint
-- :subject      uuid        NULL
-- :days         integer     NULL: as in all conversations
--
-- > {write_result}
WITH {prior_outcome},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AS is_due
    FROM (VALUES (1)) one LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN NOT EXISTS (SELECT FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation)
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
chosen AS (
    INSERT INTO store.retentions (slot, conversation_id, days)
    SELECT :slot, :conversation, :days FROM moved WHERE :days IS NOT NULL
    ON CONFLICT (conversation_id, slot) DO UPDATE SET days = excluded.days
),
ended AS (
    DELETE FROM store.retentions r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND :days IS NULL
)
SELECT {write_result(positions => 0, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
