-- Notes that the actor asks to join a group, by an invitation of which owners and admins decide. Nobody but its maker is told, and
-- it takes no position. Whoever has asked already gets what they got then, whatever became of the invitation since.
--
-- A use counts when somebody asks, so no more are let in by an invitation than may be. Whoever has withdrawn may ask again, which
-- counts no more by the same invitation, and tells nobody. What was declined stays so, and looks the same to who asked:
-- all of it ends at the same age. The rows of a group have a bound: of those that wait others are refused, of the others the
-- latest are kept.
--
-- Locks: the actor's slot (lock_users), so they do not become erased meanwhile; the maker's stream (lock_streams). The
-- invitation is there only while its maker is a member, so that they are not erased before this.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the hash of the code
-- :maker        text       of the invitation
-- :maker_slot   smallint
-- :limit        integer    how many conversations a user may have
-- :member_limit integer    how many members a conversation may have
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
{stay_of_user(user => :actor)},
{open_invitation(user => :actor, code_hash => :subject)},
own AS MATERIALIZED (
    SELECT r.invitation_id, r.requested_at, r.is_withdrawn FROM store.join_requests r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :actor AND {is_kept_join_request}
),
waiting AS MATERIALIZED (
    SELECT count(*) AS count FROM store.join_requests r
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND {is_waiting_join_request}
),
listing AS MATERIALIZED (
    SELECT {conversation_count(user_slot => :actor_slot, user => :actor)} AS count,
        (SELECT {Listing.isListed} FROM store.inbox i
         WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation) AS is_listed
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.problem = {Problem.none} AND NOT d.is_repeat AND NOT d.is_known AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT standing.is_member OR EXISTS (SELECT FROM own o WHERE NOT o.is_withdrawn) AS is_known OFFSET 0
    ) known CROSS JOIN LATERAL (
        -- Whoever may come in otherwise meanwhile does it with the next attempt: nothing is kept of this one.
        SELECT known.is_known, p.problem IS NOT NULL OR NOT known.is_known AND (
            EXISTS (SELECT FROM stay) OR NOT coalesce((SELECT n.needs_approval FROM invitation n), true)) AS is_repeat, CASE
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
                THEN {Problem.unauthenticated}
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN known.is_known THEN {Problem.none}
            WHEN NOT EXISTS (SELECT FROM invitation) THEN {Problem.notFound}
            WHEN EXISTS (SELECT FROM stay) OR (SELECT NOT n.needs_approval FROM invitation n) THEN {Problem.unavailable}
            WHEN (SELECT l.is_listed IS NOT TRUE AND l.count >= :limit FROM listing l) THEN {Problem.conflict}
            WHEN (
                SELECT count(*) FROM (
                    SELECT FROM store.published_appearances s
                    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
                    LIMIT {PutMember.staysLimit}) s) >= {PutMember.staysLimit} THEN {Problem.conflict}
            WHEN (SELECT c.member_count >= :member_limit FROM conversation c) THEN {Problem.tooLarge}
            WHEN (SELECT w.count >= {ContractLimits.joinRequestsPerConversation} FROM waiting w) THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT c.last_seq, {ChangeTime.now} AS announced_at FROM conversation c, verdict v WHERE v.is_due
),
{keep_outcome},
used AS (
    UPDATE store.invitations i SET uses = i.uses + 1 FROM moved, invitation
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id = invitation.id AND NOT EXISTS (
        SELECT FROM own o WHERE o.invitation_id = invitation.id AND o.requested_at >= invitation.created_at)
),
no_others AS (
    DELETE FROM store.join_requests r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id <> :actor AND (
        NOT {is_kept_join_request} OR r.user_id IN (
            SELECT o.user_id FROM store.join_requests o
            WHERE o.slot = :slot AND o.conversation_id = :conversation AND (o.is_declined OR o.is_withdrawn)
            ORDER BY o.requested_at DESC, o.user_id OFFSET {ContractLimits.joinRequestsPerConversation}))
),
asked AS (
    INSERT INTO store.join_requests AS r (slot, conversation_id, user_id, requested_at, invitation_id)
    SELECT :slot, :conversation, :actor, moved.announced_at, invitation.id FROM moved, invitation
    ON CONFLICT (conversation_id, user_id, slot) DO UPDATE
    SET requested_at = excluded.requested_at, invitation_id = excluded.invitation_id, is_withdrawn = false,
        is_declined = r.is_declined AND EXISTS (SELECT FROM own)
),
-- While so many wait it is told of no more: requests could otherwise drive everything else out of the maker's stream.
told AS MATERIALIZED (
    SELECT moved.announced_at FROM moved, invitation, waiting w
    WHERE NOT EXISTS (SELECT FROM own) AND w.count < {ContractLimits.waitingRequests}
      AND invitation.creator_role <> {MemberRole.member}
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq)
    SELECT :maker_slot, :maker, 1 FROM told
    ON CONFLICT (user_id, user_slot) DO UPDATE SET last_useq = s.last_useq + 1
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, about_id)
    SELECT :maker_slot, :maker, stream.last_useq, {PrivateKind.joinRequested}, told.announced_at, :slot, :conversation, :actor
    FROM stream, told
)
SELECT {write_result(positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => NULL)}
FROM verdict v LEFT JOIN moved ON true
