-- Pins a message in its conversation, for everybody. Who may write may. One that is pinned stays as it is.
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
        d.problem = {Problem.none} AND NOT d.is_repeat AND NOT EXISTS (SELECT FROM pinned) AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            {problems_of_pinning}
            WHEN t.deleted_at IS NOT NULL OR t.kind = {MessageKind.system} THEN {Problem.conflict}
            WHEN NOT EXISTS (SELECT FROM pinned) AND (
                SELECT count(*) = {ContractLimits.pinnedMessages} FROM (
                    SELECT FROM store.messages m
                    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.pinned_seq IS NOT NULL
                    LIMIT {ContractLimits.pinnedMessages}
                ) m) THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
changed AS (
    UPDATE store.messages m
    SET changed_seq = moved.last_seq, pinned_seq = moved.last_seq, pinned_by = :actor, pinned_at = moved.last_at
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.messagePinned}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
