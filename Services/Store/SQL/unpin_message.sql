-- Takes down a message that is pinned, whoever pinned it. Who may write may. Where it is not pinned there is nothing to do, which is
-- no problem.
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
{conversation_written_to},
{visible_target},
{pinned_target},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM pinned) AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            {problems_of_pinning}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
changed AS (
    UPDATE store.messages m SET changed_seq = moved.last_seq, pinned_seq = NULL
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.messageUnpinned}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
