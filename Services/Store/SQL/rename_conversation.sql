-- Gives a group a title. Who may is its owners' choice.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :title        text
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
            WHEN (SELECT c.kind = {ConversationKind.direct} FROM conversation c) THEN {Problem.conflict}
            WHEN (SELECT NOT {is_permitted(
                permissions => c.permissions, bits => {GroupPermissions.rename}, role => standing.role)} FROM conversation c)
                THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest({ChangeTime.now}, c.last_at), title = :title
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at
),
{keep_outcome},
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, title)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.conversationRenamed}, :actor, moved.last_at, :title FROM moved
),
{show_in_history}
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
