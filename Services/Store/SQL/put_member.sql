-- Takes a user into a conversation, or gives a member a role. Who may add members is the owners' choice; owners alone give roles.
-- Who is banned is brought back by owners and admins, which ends the ban.
--
-- Who comes back takes no new place in their list. `detail` is how many members there are with the new one.
--
-- A user who has blocked the actor becomes a member to all but themselves (`shadows`), by the same rules. Who is a member so,
-- and is added by somebody they have not blocked, becomes one to themselves, too, or is asked: that takes no position (`opens`),
-- for to the others they are one already.
--
-- A user who is asked first ({asks}) becomes a member to the others, too, and has a request: a stay for reading alone, beside the
-- list, of which `detail` is negative. Whoever has a request or has declined one decides: adding them again changes nothing, and asks
-- nobody who has declined, not even when they were taken out meanwhile. Of stays for reading alone the last one counts: what
-- somebody saw of an earlier one ends when they are asked again, or come in.
--
-- Whoever has asked to join has decided already: they come in, whoever lets them in. Of others the application may decide
-- (`consent`): that nobody is told of it, or that nobody comes in.
--
-- Locks: the user's stream (lock_streams), so the list and the number of conversations in it stand until the commit; the
-- user's slot (lock_users), so nobody becomes erased meanwhile; the actor's stream, if whom they bring in is counted.
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
-- :role         smallint   MemberRole, or NULL: as it is, or a member
-- :limit        integer    how many conversations others may put into a user's list
-- :member_limit integer    how many members a conversation may have
-- :direct       uuid       the direct conversation of the two
-- :consent      smallint   Consent, never byOption
-- :people_per_day integer  whom the actor, whose account is new, may bring in; NULL: any number
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
{stay_of_user},
wish AS MATERIALIZED (
    SELECT {asks_to_join} AS is_there
),
own AS MATERIALIZED (
    SELECT EXISTS (
            SELECT FROM store.memberships s
            WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.left_seq IS NULL) AS has_stay,
        NOT wish.is_there AND EXISTS (
            SELECT FROM store.blocks b
            WHERE b.user_slot = :user_slot AND b.user_id = :user AND b.blocked_id = :actor) AS blocks_actor,
        NOT wish.is_there AND {asks} AS asks,
        EXISTS (
            SELECT FROM store.requests r
            WHERE r.user_slot = :user_slot AND r.user_id = :user AND r.conversation_id = :conversation
              AND (r.is_waiting OR r.is_declined)) AS has_request
    FROM wish
),
asked AS MATERIALIZED (
    SELECT :consent <> {Consent.declined} AND ({may_ask(is_direct => false)}) AS waits, {is_told_of_request(is_direct => false)} AS is_told
    FROM own WHERE own.asks AND NOT own.blocks_actor AND NOT own.has_request
),
listing AS MATERIALIZED (
    SELECT {conversation_count(user_slot => :user_slot, user => :user)} AS count,
        (SELECT {Listing.isListed} FROM store.inbox i
         WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = :conversation) AS is_listed
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat, d.is_allowed AND (d.opens OR d.takes_position) AS is_due,
        d.is_allowed AND d.takes_position AS takes_position,
        d.is_allowed AND d.opens AND NOT d.takes_position AS opens
    FROM (SELECT d.*, d.problem = {Problem.none} AND NOT d.is_repeat AS is_allowed,
        NOT coalesce((SELECT s.role = coalesce(:role, s.role) FROM stay s), false) AS takes_position,
        EXISTS (SELECT FROM stay) AND (SELECT NOT (o.has_stay OR o.blocks_actor OR o.has_request) FROM own o)
            AND :consent IN ({Consent.given}, {Consent.asked})
            AND (SELECT l.is_listed IS TRUE OR l.count < :limit FROM listing l) AS opens
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN (SELECT c.kind = {ConversationKind.direct} FROM conversation c) THEN {Problem.conflict}
            WHEN NOT EXISTS (SELECT FROM stay) AND (SELECT NOT {is_permitted(
                permissions => c.permissions, bits => {GroupPermissions.addMembers}, role => standing.role)} FROM conversation c)
                THEN {Problem.forbidden}
            WHEN NOT EXISTS (SELECT FROM stay) AND standing.role = {MemberRole.member} AND EXISTS (
                SELECT FROM store.bans b
                WHERE b.slot = :slot AND b.conversation_id = :conversation AND b.user_id = :user) THEN {Problem.forbidden}
            WHEN :consent IN ({Consent.refused}, {Consent.unanswered}) AND NOT EXISTS (SELECT FROM stay)
                AND NOT (SELECT wish.is_there FROM wish)
                THEN CASE :consent WHEN {Consent.refused} THEN {Problem.refusedByApplication} ELSE {Problem.unavailable} END
            WHEN NOT EXISTS (SELECT FROM stay) AND {is_over_people_per_day(
                user_slot => :actor_slot, user => :actor, people => 1)} THEN {Problem.rateLimited}
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
                THEN {Problem.conflict}
            WHEN NOT EXISTS (SELECT FROM stay)
                AND (SELECT l.is_listed IS NOT TRUE AND l.count >= :limit FROM listing l) THEN {Problem.conflict}
            WHEN NOT EXISTS (SELECT FROM stay) AND (
                SELECT count(*) FROM (
                    SELECT FROM store.published_appearances s
                    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
                    LIMIT {PutMember.staysLimit}) s) >= {PutMember.staysLimit} THEN {Problem.conflict}
            WHEN NOT standing.is_owner
                AND coalesce(:role <> coalesce((SELECT s.role FROM stay s), {MemberRole.member}), false)
                THEN {Problem.forbidden}
            WHEN NOT EXISTS (SELECT FROM stay)
                AND (SELECT c.member_count >= :member_limit FROM conversation c)
                THEN {Problem.tooLarge}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d) d
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest({ChangeTime.now}, c.last_at),
        member_count = c.member_count + CASE WHEN EXISTS (SELECT FROM stay) THEN 0 ELSE 1 END
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.takes_position
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at
),
{keep_outcome},
-- Whom this concerns themselves, if they do not block the actor.
brought AS MATERIALIZED (
    SELECT moved.last_seq AS joined_seq, moved.announced_at AS at, coalesce(:role, {MemberRole.member}) AS role, false AS is_shadowed
    FROM moved, own WHERE NOT EXISTS (SELECT FROM stay) AND NOT own.blocks_actor
    UNION ALL
    SELECT c.last_seq + 1, {ChangeTime.now}, s.role, true FROM conversation c, stay s, verdict v WHERE v.opens
),
joining AS MATERIALIZED (
    SELECT b.* FROM brought b, own WHERE NOT own.asks
),
{count_people(user_slot => :actor_slot, user => :actor,
    people => SELECT 1 AS people FROM moved WHERE NOT EXISTS (SELECT FROM stay))},
joined AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role, is_shadowed)
    SELECT :slot, :conversation, :user, j.joined_seq, j.role, j.is_shadowed FROM joining j
    RETURNING joined_seq
),
shadowed AS (
    INSERT INTO store.shadows (slot, conversation_id, user_id, joined_seq, role)
    SELECT :slot, :conversation, :user, moved.last_seq, coalesce(:role, {MemberRole.member})
    FROM moved, own WHERE NOT EXISTS (SELECT FROM stay) AND (own.blocks_actor OR own.asks)
    RETURNING joined_seq
),
request AS (
    INSERT INTO store.requests (
        user_slot, user_id, conversation_id, slot, is_direct, direct_id, is_waiting, is_declined, at)
    SELECT :user_slot, :user, :conversation, :slot, false, :direct, asked.waits, NOT asked.waits, b.at
    FROM brought b, asked
    ON CONFLICT (user_id, conversation_id, user_slot) DO UPDATE
    SET direct_id = excluded.direct_id, is_waiting = excluded.is_waiting, is_declined = excluded.is_declined, at = excluded.at
),
reader AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role, is_shadowed)
    SELECT :slot, :conversation, :user, b.joined_seq, {RequestsStatement.end}, b.role, true
    FROM brought b, asked WHERE asked.waits
    RETURNING joined_seq
),
forgotten AS (
    {forgotten_stays(joined => SELECT joined_seq FROM joined UNION ALL SELECT joined_seq FROM reader)}
),
-- What a stranger was refused, who has not added them now.
no_request AS (
    DELETE FROM store.requests r USING joined
    WHERE r.user_slot = :user_slot AND r.user_id = :user AND r.conversation_id = :conversation
),
shadow_listed AS (
    INSERT INTO store.shadow_listings (user_slot, user_id, conversation_id)
    SELECT :user_slot, :user, :conversation FROM shadowed
    ON CONFLICT DO NOTHING
),
listed AS (
    INSERT INTO store.inbox AS i (user_slot, user_id, conversation_id, slot)
    SELECT :user_slot, :user, :conversation, :slot FROM joined
    ON CONFLICT (user_id, conversation_id, user_slot) DO UPDATE SET is_removed = false WHERE i.is_removed
),
lifted AS (
    DELETE FROM store.bans b USING moved
    WHERE b.slot = :slot AND b.conversation_id = :conversation AND b.user_id = :user
),
no_join_request AS (
    DELETE FROM store.join_requests r USING moved
    WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.user_id = :user
),
promoted AS (
    UPDATE store.memberships s SET role = :role FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
      AND (s.left_seq IS NULL OR s.left_seq = {RequestsStatement.end})
),
promoted_shadow AS (
    UPDATE store.shadows s SET role = :role FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.left_seq IS NULL
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role, prior_role)
    SELECT :slot, :conversation, moved.last_seq,
        CASE WHEN EXISTS (SELECT FROM stay) THEN {ChangeKind.memberChanged} ELSE {ChangeKind.memberAdded} END,
        :actor, moved.last_at, :user, coalesce(:role, {MemberRole.member}), (SELECT s.role FROM stay s)
    FROM moved
),
{show_in_history},
-- The new member's private stream says so.
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT :user_slot, :user, 1, l.count + CASE WHEN l.is_listed OR EXISTS (SELECT FROM reader) THEN 0 ELSE 1 END
    FROM (SELECT FROM joined UNION ALL SELECT FROM reader, asked WHERE asked.is_told) brought, listing l
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count,
        unlisted_count = s.unlisted_count - (SELECT CASE WHEN NOT l.is_listed THEN 1 ELSE 0 END FROM listing l)
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq, is_waiting)
    SELECT :user_slot, :user, stream.last_useq, {PrivateKind.conversationJoined}, j.at, :slot, :conversation, j.joined_seq - 1,
        NULL
    FROM stream, joining j
    UNION ALL
    SELECT :user_slot, :user, stream.last_useq, {PrivateKind.request}, b.at, :slot, :conversation, NULL, true
    FROM stream, brought b, reader
)
SELECT {write_result(
    positions => CASE WHEN v.opens THEN 0 ELSE 1 END, useq => (SELECT stream.last_useq FROM stream),
    detail => (
        SELECT (c.member_count + CASE WHEN v.opens THEN 0 ELSE 1 END) * CASE WHEN EXISTS (SELECT FROM reader) THEN -1 ELSE 1 END
        FROM conversation c))}
FROM verdict v LEFT JOIN (
    SELECT m.last_seq, m.announced_at FROM moved m
    UNION ALL
    SELECT c.last_seq, b.at FROM conversation c, brought b WHERE b.is_shadowed
) moved ON true
