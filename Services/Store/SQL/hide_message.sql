-- Hides a message for the actor alone. No position of the conversation: nobody else learns of it.
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
-- Also where the actor has hidden it already.
target AS MATERIALIZED (
    SELECT m.seq FROM store.messages m
    WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = :subject AND {is_in_stay_of_actor}
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND NOT coalesce((
            SELECT true FROM store.hidden h
            WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id = :actor AND h.seq = t.seq
        ), false) AS is_due
    FROM standing LEFT JOIN prior p ON true LEFT JOIN target t ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN t.seq IS NULL THEN {Problem.notFound}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 0)},
{keep_outcome},
hidden AS (
    INSERT INTO store.hidden (slot, conversation_id, user_id, seq)
    SELECT :slot, :conversation, :actor, t.seq FROM moved, target t
),
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.messageHidden}, message => :subject,
    seq => (SELECT t.seq FROM target t), unlisted => 0,
    source => moved)}
SELECT {write_result(positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
