-- Votes in a poll. The last vote of a user stands; the same one again changes nothing, nor does withdrawing none.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the message
-- :options      smallint   a bit for each option; 0: the vote is withdrawn
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{visible_target},
{poll_of_target},
present AS MATERIALIZED (
    SELECT coalesce(max(v.options), 0::smallint) AS options FROM store.votes v
    WHERE v.slot = :slot AND v.conversation_id = :conversation AND v.message_id = :subject AND v.user_id = :actor
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND (SELECT n.options FROM present n) <> :options AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true LEFT JOIN poll k ON true CROSS JOIN LATERAL (
        -- Of who is asked nothing is kept: voting accepts, and then this comes again (CommandOutcomes).
        SELECT p.problem IS NOT NULL OR standing.is_asked AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN t.seq IS NULL THEN {Problem.notFound}
            WHEN t.deleted_at IS NOT NULL OR k.count IS NULL THEN {Problem.conflict}
            WHEN k.closed_seq IS NOT NULL THEN {Problem.pollClosed}
            WHEN (:options::integer >> k.count) > 0 OR NOT k.is_multiple AND (:options & (:options - 1)) <> 0
                THEN {Problem.invalid}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
voted AS (
    INSERT INTO store.votes (slot, conversation_id, message_id, user_id, options, at, seq)
    SELECT :slot, :conversation, :subject, :actor, :options, moved.last_at, moved.last_seq FROM moved WHERE :options > 0
    ON CONFLICT (conversation_id, message_id, user_id, slot)
    DO UPDATE SET options = excluded.options, at = excluded.at, seq = excluded.seq
),
withdrawn AS (
    DELETE FROM store.votes v USING moved
    WHERE v.slot = :slot AND v.conversation_id = :conversation AND v.message_id = :subject AND v.user_id = :actor
      AND :options = 0
),
counted AS (
    {count_vote}
),
changed AS (
    UPDATE store.messages m SET changed_seq = moved.last_seq
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.pollVoted}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
