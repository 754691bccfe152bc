-- Makes an invitation into a group. Whoever may add members may; owners and admins may make one by which others ask. The same
-- again has the code of the last request, because the response with the one before may be lost, and what is kept of a code does not
-- give it back. Nobody is told, and it takes no
-- position. What is good no more goes, so a group never has more rows than it may have invitations, and one.
--
-- :slot           smallint
-- :conversation   uuid
-- :actor          text
-- :actor_slot     smallint
-- :known_by       uuid[]      see prior_outcome
-- :action         smallint
-- :subject        uuid        the invitation
-- :code_hash      uuid
-- :expires_at     timestamptz or NULL
-- :max_uses       integer     or NULL
-- :needs_approval boolean     whoever comes by it asks to join
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
known AS MATERIALIZED (
    SELECT i.creator_id = :actor AND i.expires_at IS NOT DISTINCT FROM :expires_at
        AND i.max_uses IS NOT DISTINCT FROM :max_uses AND i.needs_approval = :needs_approval AS is_same
    FROM store.invitations i
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id = :subject
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN (SELECT c.kind = {ConversationKind.direct} FROM conversation c) THEN {Problem.conflict}
            WHEN (SELECT NOT {is_permitted(
                permissions => c.permissions, bits => {GroupPermissions.addMembers}, role => standing.role)} FROM conversation c)
                THEN {Problem.forbidden}
            WHEN :needs_approval AND standing.role = {MemberRole.member} THEN {Problem.forbidden}
            WHEN coalesce(:expires_at <= {ChangeTime.now}, false) THEN {Problem.invalid}
            WHEN EXISTS (SELECT FROM known) THEN (
                SELECT CASE WHEN k.is_same THEN {Problem.none} ELSE {Problem.conflict} END FROM known k)
            WHEN (
                SELECT count(*) FROM store.invitations i
                WHERE i.slot = :slot AND i.conversation_id = :conversation AND {is_good_invitation})
                >= {ContractLimits.invitationsPerConversation} THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM conversation c, verdict v WHERE v.is_due
),
{keep_outcome},
no_others AS (
    DELETE FROM store.invitations i USING moved
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id <> :subject AND NOT {is_good_invitation}
),
made AS (
    INSERT INTO store.invitations (
        slot, conversation_id, id, code_hash, creator_id, creator_slot, created_at, expires_at, max_uses,
        needs_approval)
    SELECT :slot, :conversation, :subject, :code_hash, :actor, :actor_slot, moved.announced_at, :expires_at, :max_uses,
        :needs_approval
    FROM moved
    ON CONFLICT (conversation_id, id, slot) DO UPDATE SET code_hash = excluded.code_hash
)
SELECT {write_result(positions => 0, useq => NULL, detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
