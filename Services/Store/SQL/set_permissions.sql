-- Changes who may do what in a group. Owners may. It is told as a change of its own, which history does not show. Nothing of it
-- stands with the members, so it costs the same however many there are.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :permissions  smallint   GroupPermissions, without those that stay as they are
-- :unchanged    smallint   the bits of those
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
asked AS MATERIALIZED (
    SELECT :permissions | (c.permissions & :unchanged) AS permissions
    FROM conversation c
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat
            AND (SELECT a.permissions <> c.permissions FROM asked a, conversation c) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN (SELECT c.kind = {ConversationKind.direct} FROM conversation c) THEN {Problem.conflict}
            WHEN NOT standing.is_owner THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest({ChangeTime.now}, c.last_at), permissions = asked.permissions
    FROM verdict v, asked
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at, c.permissions
),
{keep_outcome},
-- What tells a send to look the permissions up (send_messages).
restricted AS (
    INSERT INTO store.early_deletions (slot, conversation_id, message_id, user_id)
    SELECT :slot, :conversation, :conversation, '' FROM moved
    WHERE (moved.permissions >> {GroupPermissions.write} & 3) <> {PermittedRoles.members}
    ON CONFLICT DO NOTHING
),
unrestricted AS (
    DELETE FROM store.early_deletions e USING moved
    WHERE e.slot = :slot AND e.conversation_id = :conversation AND e.message_id = :conversation AND e.user_id = ''
      AND (moved.permissions >> {GroupPermissions.write} & 3) = {PermittedRoles.members}
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, permissions)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.permissionsChanged}, :actor, moved.last_at, moved.permissions FROM moved
)
SELECT {write_result(positions => 1, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
