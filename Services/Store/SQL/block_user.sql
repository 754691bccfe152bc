-- Blocks a user, or ends that. In the direct conversation of the two the actor's present stay is closed with the last position,
-- or a new one begins behind it. To the other one stay goes on (`shadows`): nothing takes a position, and the conversation's row
-- does not change, so that not even `sync` tells.
--
-- What the actor was asked about goes with the block, and they do not see it any more. Whoever they have not taken into their list
-- has to ask again when the block ends ({asks}).
--
-- What was opened again and has nothing in it is taken back. An erased user cannot be blocked, which is no problem: there is
-- nothing left to block.
--
-- Locks: the conversation's id (lock_keys), so nobody creates it meanwhile; the slots of both users (lock_users), so nobody
-- becomes erased meanwhile; the actor's stream (begin_streams, lock_streams), which also whoever adds the actor to a
-- conversation locks. `detail` is the position at which the stay ended, or behind which it begins; 0: there is none.
--
-- :slot         smallint
-- :conversation uuid       the direct conversation of the two, whether there is one or not
-- :actor        text
-- :actor_slot   smallint
-- :known_by     uuid[]     see prior_outcome
-- :action       smallint
-- :subject      uuid       a hash of the user's name, and what is asked for
-- :user         text
-- :user_slot    smallint
-- :is_blocked   boolean    from now on
-- :consent smallint        Consent of who opens the conversation when the block ends
--
-- > {write_result}
WITH {prior_outcome},
block AS MATERIALIZED (
    SELECT EXISTS (
        SELECT FROM store.blocks b
        WHERE b.user_slot = :actor_slot AND b.user_id = :actor AND b.blocked_id = :user) AS is_there
),
conversation AS MATERIALIZED (
    SELECT c.last_seq FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation
),
stay AS MATERIALIZED (
    SELECT s.joined_seq, s.role FROM store.memberships s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq IS NULL
),
shadow AS MATERIALIZED (
    SELECT s.role FROM store.shadows s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq IS NULL
),
own AS MATERIALIZED (
    SELECT EXISTS (
            SELECT FROM store.requests r
            WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation) AS has_request,
        {asks(user_slot => :actor_slot, user => :actor, direct => :conversation)} AS asks
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat AND (SELECT b.is_there FROM block b) <> :is_blocked
            AND NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user) AS is_due
    FROM (VALUES (1)) one LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :actor_slot AND e.user_id = :actor)
                THEN {Problem.unauthenticated}
            WHEN p.problem IS NOT NULL THEN p.problem
            WHEN :is_blocked AND NOT (SELECT b.is_there FROM block b) AND (
                SELECT count(*) FROM store.blocks b
                WHERE b.user_slot = :actor_slot AND b.user_id = :actor) >= {ContractLimits.blockedUsers} THEN {Problem.conflict}
            WHEN NOT :is_blocked AND EXISTS (SELECT FROM shadow) AND NOT EXISTS (SELECT FROM stay) AND (
                SELECT count(*) FROM store.memberships s
                WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor
            ) >= {PutMember.staysLimit} THEN {Problem.conflict}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS MATERIALIZED (
    SELECT coalesce((SELECT c.last_seq FROM conversation c), 0) AS last_seq, {ChangeTime.now} AS announced_at FROM verdict v
    WHERE v.is_due
),
{keep_outcome},
blocked AS (
    INSERT INTO store.blocks (user_slot, user_id, blocked_id, at)
    SELECT :actor_slot, :actor, :user, moved.announced_at FROM moved WHERE :is_blocked
),
unblocked AS (
    DELETE FROM store.blocks b USING moved
    WHERE b.user_slot = :actor_slot AND b.user_id = :actor AND b.blocked_id = :user AND NOT :is_blocked
),
closed AS (
    UPDATE store.memberships s SET left_seq = moved.last_seq, left_at = moved.announced_at, is_shadowed = true FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq IS NULL
      AND s.joined_seq <= moved.last_seq AND :is_blocked
),
taken_back AS (
    DELETE FROM store.memberships s USING moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND s.left_seq IS NULL
      AND s.joined_seq > moved.last_seq AND :is_blocked
),
{drop_draft(user => :actor, user_slot => :actor_slot, source => (SELECT FROM moved WHERE :is_blocked))},
shadowed AS (
    INSERT INTO store.shadows (slot, conversation_id, user_id, joined_seq, role)
    SELECT :slot, :conversation, :actor, stay.joined_seq, stay.role FROM moved, stay
    WHERE :is_blocked AND NOT EXISTS (SELECT FROM shadow)
),
no_request AS (
    DELETE FROM store.requests r USING moved
    WHERE r.user_slot = :actor_slot AND r.user_id = :actor AND r.conversation_id = :conversation AND :is_blocked
),
no_reading AS (
    DELETE FROM store.memberships s USING moved, own
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :actor AND :is_blocked AND own.has_request
),
opening AS MATERIALIZED (
    SELECT moved.last_seq + 1 AS joined_seq, shadow.role, moved.announced_at, own.asks FROM moved, shadow, own
    WHERE NOT :is_blocked AND NOT EXISTS (SELECT FROM stay) AND NOT own.has_request
),
request AS (
    INSERT INTO store.requests (
        user_slot, user_id, conversation_id, slot, is_direct, direct_id, is_waiting, is_declined, at)
    SELECT :actor_slot, :actor, :conversation, :slot, true, :conversation, true, false, o.announced_at
    FROM opening o WHERE o.asks
),
reader AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role, is_shadowed)
    SELECT :slot, :conversation, :actor, o.joined_seq, {RequestsStatement.end}, o.role, true FROM opening o WHERE o.asks
),
opened AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role, is_shadowed)
    SELECT :slot, :conversation, :actor, o.joined_seq, o.role, true FROM opening o WHERE NOT o.asks
    RETURNING joined_seq
),
listing AS MATERIALIZED (
    SELECT {conversation_count(user_slot => :actor_slot, user => :actor)} AS count,
        (SELECT {Listing.isListed} FROM store.inbox i
         WHERE i.user_slot = :actor_slot AND i.user_id = :actor AND i.conversation_id = :conversation) AS is_listed
),
listed AS (
    INSERT INTO store.inbox AS i (user_slot, user_id, conversation_id, slot)
    SELECT :actor_slot, :actor, :conversation, :slot FROM opened
    ON CONFLICT (user_id, conversation_id, user_slot) DO UPDATE SET is_removed = false WHERE i.is_removed
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT :actor_slot, :actor, 1,
        l.count + CASE WHEN l.is_listed IS NOT TRUE AND EXISTS (SELECT FROM opened) THEN 1 ELSE 0 END
    FROM moved, listing l
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count,
        unlisted_count = s.unlisted_count - (
            SELECT CASE WHEN NOT l.is_listed AND EXISTS (SELECT FROM opened) THEN 1 ELSE 0 END FROM listing l)
    RETURNING last_useq
),
position AS MATERIALIZED (
    SELECT CASE WHEN EXISTS (SELECT FROM stay) = :is_blocked AND (:is_blocked OR EXISTS (SELECT FROM shadow))
            AND (:is_blocked OR EXISTS (SELECT FROM opening o WHERE NOT o.asks))
        THEN moved.last_seq ELSE 0 END AS seq
    FROM moved
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq, about_id, is_blocked)
    SELECT :actor_slot, :actor, stream.last_useq, {PrivateKind.blocked}, moved.announced_at, :slot, :conversation,
        position.seq, :user, :is_blocked
    FROM stream, moved, position
)
SELECT {write_result(
    positions => 0, useq => (SELECT stream.last_useq FROM stream), detail => (SELECT position.seq FROM position))}
FROM verdict v LEFT JOIN moved ON true
