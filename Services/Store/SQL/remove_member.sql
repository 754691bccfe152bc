-- Takes a user out of a conversation: members leave, owners and admins remove, admins only who is neither. Who is removed is
-- banned. Where the last owner goes, the longest-standing admin becomes one, or else the longest-standing member, at a position
-- of its own behind the removal.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       a hash of the user's name
-- :user         text
-- :user_slot    smallint
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
{stay_of_user},
{next_owner},
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND EXISTS (SELECT FROM stay) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN (SELECT c.kind = {ConversationKind.direct} FROM conversation c) THEN {Problem.conflict}
            WHEN :user <> :actor AND NOT standing.is_owner AND NOT (standing.role = {MemberRole.admin}
                AND coalesce((SELECT s.role FROM stay s), {MemberRole.member}) = {MemberRole.member}) THEN {Problem.forbidden}
            WHEN NOT EXISTS (
                SELECT FROM store.published_appearances s
                WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user) THEN {Problem.notFound}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
{take_out_member},
banned AS (
    INSERT INTO store.bans (slot, conversation_id, user_id, seq)
    SELECT :slot, :conversation, :user, removal.seq FROM removal WHERE :user <> :actor
    ON CONFLICT (conversation_id, user_id, slot) DO UPDATE SET seq = excluded.seq
),
{keep_outcome}
SELECT {write_result(
    positions => (SELECT 1 + count(*) FROM next_owner), useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
