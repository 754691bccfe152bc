-- Makes the actor a member of a conversation that they were brought into by somebody they do not know. A request that waits
-- becomes the stay that it begins with, and so does one that was declined, or was not told of. To the others one stay goes
-- on (`shadows`): nothing takes a position, and the conversation's row does not change.
--
-- Locks: the actor's stream (begin_streams, lock_streams), so the list and the number of conversations in it stand until the
-- commit. `positions` is how many up to the last one are the stay's; `detail` is how many members there are.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :limit        integer    how many conversations a user may have
-- :reopens      boolean    also one that was declined
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
shadow AS MATERIALIZED (
    SELECT s.joined_seq, s.role FROM store.shadows s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq IS NULL
),
request AS MATERIALIZED (
    SELECT r.is_waiting FROM store.requests r
    WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation
      AND EXISTS (SELECT FROM shadow)  -- Else they were taken out since.
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM request r WHERE r.is_waiting OR :reopens) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
                THEN {Problem.unauthenticated}
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN NOT EXISTS (SELECT FROM request) THEN CASE
                WHEN standing.is_member THEN {Problem.none}
                WHEN standing.was_member THEN {Problem.forbidden}
                ELSE {Problem.notFound} END
            WHEN {conversation_count(user_slot => :actor_slot, user => :actor)} >= :limit THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM conversation c, verdict v WHERE v.is_due
),
{keep_outcome},
accepted AS (
    DELETE FROM store.requests r USING moved
    WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation
),
-- Stays that ended are before the present shadow.
opened AS (
    UPDATE store.memberships s SET left_seq = NULL, left_at = NULL, role = shadow.role FROM moved, shadow
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.joined_seq >= shadow.joined_seq
    RETURNING s.joined_seq
),
begun AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role, is_shadowed)
    SELECT :slot, :conversation, :actor, shadow.joined_seq, shadow.role, true FROM moved, shadow
    WHERE NOT EXISTS (
        SELECT FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.joined_seq >= shadow.joined_seq)
    RETURNING joined_seq
),
joined AS MATERIALIZED (SELECT joined_seq FROM opened UNION ALL SELECT joined_seq FROM begun),
forgotten AS (
    {forgotten_stays(user => :actor, user_slot => :actor_slot, joined => SELECT joined_seq FROM joined)}
),
listed AS (
    INSERT INTO store.inbox AS i (user_slot, user_id, conversation_id, slot)
    SELECT :actor_slot, :actor, :conversation, :slot FROM joined
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT :actor_slot, :actor, 1, {conversation_count(user_slot => :actor_slot, user => :actor)} + 1 FROM joined
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
    SELECT :actor_slot, :actor, stream.last_useq, {PrivateKind.conversationJoined}, moved.announced_at, :slot, :conversation,
        joined.joined_seq - 1
    FROM stream, moved, joined
)
SELECT {write_result(
    positions => moved.last_seq - (SELECT j.joined_seq FROM joined j) + 1,
    useq => (SELECT stream.last_useq FROM stream), detail => (SELECT c.member_count FROM conversation c))}
FROM verdict v LEFT JOIN moved ON true
