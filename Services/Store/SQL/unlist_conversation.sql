-- Takes a conversation that the actor has left out of the actor's list, which frees its place there, and that of a pin.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       NULL
-- :limit        integer    how many a user may have taken out of their list
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND NOT coalesce((
            SELECT i.is_removed FROM store.inbox i
            WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
        ), true) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN standing.is_member THEN {Problem.conflict}
            WHEN (
                SELECT s.unlisted_count >= :limit FROM store.user_streams s
                WHERE s.user_slot = :actor_slot AND s.user_id = :actor
            ) AND (
                SELECT {Listing.isListed} FROM store.inbox i
                WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
            ) THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{move(positions => 0)},
{keep_outcome},
unlisted AS (
    UPDATE store.inbox i
    SET is_removed = true, pin_order = NULL, archived_seq = NULL, marked_unread_seq = NULL FROM moved
    WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation
),
{tell_user(
    user => :actor, user_slot => :actor_slot, kind => {PrivateKind.conversationRemoved}, message => NULL::uuid,
    seq => NULL::bigint, unlisted => 1,
    source => moved)}
SELECT {write_result(positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
