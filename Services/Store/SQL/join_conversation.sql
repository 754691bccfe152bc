-- Takes the actor into a group by an invitation, as a member whom they have added themselves. A member has joined, whatever became of
-- the invitation since: so a repetition is answered, and uses it once. `detail` is how many members there are then.
--
-- Who is asked about the group, or was and has declined, is a member to the others: they accept (AnswerRequest), and this comes again.
-- Who is a member to the others alone, because they have blocked who added them, becomes one to themselves, too: that takes no
-- position (`opens`), as in put_member.
--
-- Where owners and admins decide, nothing happens, and the problem is {Problem.unavailable}: whom to tell is looked up, and
-- ask_to_join.sql follows. Whoever has asked before gets what they got then, whatever became of the invitation.
--
-- Locks: the actor's stream (lock_streams), so the list and the number of conversations in it stand until the commit; the
-- actor's slot (lock_users), so they do not become erased meanwhile. The conversation's lock is what two wait for who use it last.
--
-- :slot         smallint
-- :conversation uuid
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       the hash of the code
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
    SELECT EXISTS (SELECT FROM stay) AND EXISTS (
        SELECT FROM store.requests r
        WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation
          AND (r.is_waiting OR r.is_declined)) AS has_request,
        NOT EXISTS (SELECT FROM stay) AND coalesce((SELECT n.needs_approval FROM invitation n), false) AS has_to_ask,
        {asks_to_join(user => :actor)} AS has_asked
),
listing AS MATERIALIZED (
    SELECT {conversation_count(user_slot => :actor_slot, user => :actor)} AS count,
        (SELECT {Listing.isListed} FROM store.inbox i
         WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation) AS is_listed
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT (d.is_repeat OR d.is_member OR d.goes_on_asking) AS is_due
    FROM standing CROSS JOIN own LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        -- By an invitation that lets them in they come in at once.
        SELECT NOT standing.is_member AND own.has_asked AND (own.has_to_ask OR NOT EXISTS (SELECT FROM invitation)) AS goes_on
        OFFSET 0
    ) asking CROSS JOIN LATERAL (
        -- No outcome is kept for a user who has to accept or to ask first: the command is carried out again (CommandOutcomes).
        SELECT standing.is_member, asking.goes_on AS goes_on_asking,
            p.problem IS NOT NULL OR NOT (standing.is_member OR asking.goes_on) AND (own.has_request OR own.has_to_ask) AS is_repeat,
            CASE
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
                THEN {Problem.unauthenticated}
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN standing.is_member OR asking.goes_on THEN {Problem.none}
            WHEN NOT EXISTS (SELECT FROM invitation) THEN {Problem.notFound}
            WHEN own.has_request THEN {Problem.forbidden}
            WHEN own.has_to_ask THEN {Problem.unavailable}
            WHEN (SELECT l.is_listed IS NOT TRUE AND l.count >= :limit FROM listing l) THEN {Problem.conflict}
            WHEN EXISTS (SELECT FROM stay) THEN {Problem.none}
            WHEN (
                SELECT count(*) FROM (
                    SELECT FROM store.published_appearances s
                    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
                    LIMIT {PutMember.staysLimit}) s) >= {PutMember.staysLimit} THEN {Problem.conflict}
            WHEN (SELECT c.member_count >= :member_limit FROM conversation c) THEN {Problem.tooLarge}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest({ChangeTime.now}, c.last_at), member_count = c.member_count + 1
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due AND NOT EXISTS (SELECT FROM stay)
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at
),
{keep_outcome},
joining AS MATERIALIZED (
    SELECT moved.last_seq AS joined_seq, moved.announced_at AS at, {MemberRole.member} AS role, false AS is_shadowed FROM moved
    UNION ALL
    SELECT c.last_seq + 1, {ChangeTime.now}, s.role, true FROM conversation c, stay s, verdict v WHERE v.is_due
),
used AS (
    UPDATE store.invitations i SET uses = i.uses + 1 FROM joining, invitation
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.id = invitation.id
),
joined AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role, is_shadowed)
    SELECT :slot, :conversation, :actor, j.joined_seq, j.role, j.is_shadowed FROM joining j
    RETURNING joined_seq
),
forgotten AS (
    {forgotten_stays(user => :actor, user_slot => :actor_slot, joined => SELECT joined_seq FROM joined)}
),
-- What a stranger was refused, by whom they were not brought in now.
no_request AS (
    DELETE FROM store.requests r USING joined
    WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation
),
-- What they have asked is decided.
no_join_request AS (
    DELETE FROM store.join_requests r USING joined
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :actor
),
listed AS (
    INSERT INTO store.inbox AS i (user_slot, user_id, conversation_id, slot)
    SELECT :actor_slot, :actor, :conversation, :slot FROM joined
    ON CONFLICT (user_id, conversation_id, user_slot) DO UPDATE SET is_removed = false WHERE i.is_removed
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role)
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.memberAdded}, :actor, moved.last_at, :actor, {MemberRole.member}
    FROM moved
),
{show_in_history},
-- Their private stream says so.
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT :actor_slot, :actor, 1, l.count + CASE WHEN l.is_listed THEN 0 ELSE 1 END FROM joined, listing l
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count,
        unlisted_count = s.unlisted_count - (SELECT CASE WHEN NOT l.is_listed THEN 1 ELSE 0 END FROM listing l)
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
    SELECT :actor_slot, :actor, stream.last_useq, {PrivateKind.conversationJoined}, j.at, :slot, :conversation, j.joined_seq - 1
    FROM stream, joining j
)
SELECT {write_result(
    positions => (SELECT count(*) FROM moved), useq => (SELECT stream.last_useq FROM stream),
    detail => (SELECT c.member_count + (SELECT count(*) FROM moved) FROM conversation c))}
FROM verdict v LEFT JOIN (
    SELECT m.last_seq, m.announced_at FROM moved m
    UNION ALL
    SELECT c.last_seq, j.at FROM conversation c, joining j WHERE j.is_shadowed
) moved ON true
