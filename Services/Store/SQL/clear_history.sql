-- Clears the history up to a position for the actor alone; never back. `detail` is the position.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :through      bigint     0: the latest position
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
cleared AS MATERIALIZED (
    SELECT least(CASE WHEN :through = 0 THEN c.last_seq ELSE :through END, c.last_seq) AS through FROM conversation c
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND NOT coalesce((
            SELECT max(s.cleared_seq) >= (SELECT through FROM cleared) FROM store.memberships s
            WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
        ), false) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 0)},
{keep_outcome},
clearing AS (
    UPDATE store.memberships s SET cleared_seq = greatest(s.cleared_seq, cleared.through) FROM moved, cleared
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
),
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.historyCleared}, message => NULL::uuid,
    seq => (SELECT through FROM cleared), unlisted => 0,
    source => moved)}
SELECT {write_result(
    positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => (SELECT through FROM cleared))}
FROM verdict v LEFT JOIN moved ON true
