-- Closes a poll: nobody votes any more. Its sender may, and the owners and admins of a group. One that is closed stays as it is.
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
{poll_of_target},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND (SELECT k.closed_seq IS NULL FROM poll k) AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN t.seq IS NULL THEN {Problem.notFound}
            WHEN t.sender_id <> :actor AND (
                SELECT c.kind <> {ConversationKind.group} OR standing.role = {MemberRole.member} FROM conversation c)
                THEN {Problem.forbidden}
            WHEN t.deleted_at IS NOT NULL OR NOT EXISTS (SELECT FROM poll) THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 1)},
{keep_outcome},
closed AS (
    UPDATE store.polls p SET closed_seq = moved.last_seq, closed_at = moved.last_at
    FROM moved WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.message_id = :subject
),
changed AS (
    UPDATE store.messages m SET changed_seq = moved.last_seq
    FROM moved WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, message_id)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.pollClosed}, :actor, moved.last_at, :subject FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
