-- Sets the actor's tapback on a message. The last one of a user stands; the same one again changes nothing.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the message
-- :kind         text
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{visible_target},
{present_tapback},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat
            AND NOT coalesce((SELECT p.kind = :kind FROM present p), false) AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        -- Of who is asked nothing is kept: reacting accepts, and then this comes again (CommandOutcomes).
        SELECT p.problem IS NOT NULL OR standing.is_asked AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN t.seq IS NULL THEN {Problem.notFound}
            WHEN t.deleted_at IS NOT NULL OR t.kind = {MessageKind.system} THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
tapback AS (
    INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
    SELECT :slot, :conversation, :subject, :actor, :kind, moved.last_at, moved.last_seq FROM moved
    ON CONFLICT (conversation_id, message_id, user_id, slot)
    DO UPDATE SET kind = excluded.kind, at = excluded.at, seq = excluded.seq
),
counted AS (
    UPDATE store.messages m
    SET {tapbacks_counted(kind => :kind, added => (p.kind IS NULL)::integer, seq => moved.last_seq)}
    FROM moved LEFT JOIN present p ON true
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.tapbackSet}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
