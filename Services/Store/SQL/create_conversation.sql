-- Creates a conversation with its first members and reports it on each member's private stream. Who has blocked the creator is
-- a member to the others alone (`shadows`), and is told nothing. So is whoever does not know the creator, and has a request instead:
-- a stay for reading alone, beside the list ({asks}). Returns one row per member who is told. If nothing is created, it
-- returns one row with the obstacle alone.
--
-- Locks: the conversation's id (lock_keys), so two creations of it do not meet here; the members' slots (lock_users), so
-- nobody becomes erased meanwhile; their streams (begin_streams, lock_streams), so the number of conversations in their
-- lists stands until the commit.
--
-- :slot                 smallint
-- :conversation         uuid
-- :kind                 smallint   ConversationKind
-- :title                text       or NULL
-- :creator              text
-- :creator_slot         smallint
-- :members              text[]     the creator, too
-- :member_slots         smallint[]
-- :limit                integer    how many conversations a user may have
-- :limit_when_added     integer    how many of these others may make
-- :directs              uuid[]     of each member the direct conversation with the creator
-- :consents             smallint[] Consent of each member but the creator, never byOption
-- :people_per_day       integer    whom a new account may bring in; NULL: any number
--
-- > member     text         NULL with an obstacle
-- > useq       bigint       NULL with an obstacle
-- > at         timestamptz  NULL with an obstacle
-- > is_request boolean
-- > obstacle   smallint     CreationObstacle, or NULL
WITH joining AS MATERIALIZED (
    SELECT u.user_id, u.user_slot, {conversation_count(user_slot => u.user_slot, user => u.user_id)} AS count,
        (SELECT true FROM store.erasures e
         WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id) IS NOT NULL AS is_erased,
        (SELECT true FROM store.blocks b
         WHERE b.user_slot = u.user_slot AND b.user_id = u.user_id AND b.blocked_id = :creator) IS NOT NULL AS blocks_creator,
        (SELECT true FROM store.blocks b
         WHERE b.user_slot = :creator_slot AND b.user_id = :creator AND b.blocked_id = u.user_id) IS NOT NULL AS is_blocked,
        u.user_id <> :creator AND {asks(
            user_slot => u.user_slot, user => u.user_id, conversation => :conversation, direct => u.direct_id,
            consent => u.consent)} AS asks,
        u.direct_id, u.consent
    FROM unnest(:members, :member_slots, :directs, :consents) AS u(user_id, user_slot, direct_id, consent)
),
asked AS MATERIALIZED (
    SELECT j.user_slot, j.user_id, j.count, j.direct_id,
        j.consent <> {Consent.declined} AND ({may_ask(
            user_slot => j.user_slot, user => j.user_id, direct => j.direct_id,
            is_direct => :kind = {ConversationKind.direct})}) AS waits,
        {is_told_of_request(
            user_slot => j.user_slot, user => j.user_id, is_direct => :kind = {ConversationKind.direct})} AS is_told
    FROM joining j WHERE j.asks AND NOT j.blocks_creator
),
verdict AS MATERIALIZED (
    SELECT CASE
            WHEN {is_over_people_per_day(user_slot => :creator_slot, user => :creator, people => cardinality(:members) - 1)}
                THEN {CreationObstacle.tooManyPeople}
            WHEN bool_or(consent = {Consent.refused}) THEN {CreationObstacle.isRefused}
            WHEN bool_or(consent = {Consent.unanswered}) THEN {CreationObstacle.isUndecided}
            WHEN bool_or(is_erased) THEN {CreationObstacle.memberIsErased}
            WHEN :kind = {ConversationKind.direct} AND bool_or(is_blocked) THEN {CreationObstacle.memberIsBlocked}
            WHEN bool_or(user_id = :creator AND count >= :limit) THEN {CreationObstacle.creatorHasTooMany}
            WHEN bool_or(user_id <> :creator AND count >= :limit_when_added) THEN {CreationObstacle.memberHasTooMany}
        END AS obstacle
    FROM joining
),
-- An existing conversation is left alone: its creator repeats the request, or somebody took the id.
fresh AS (
    INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
    SELECT :slot, :conversation, :kind, :title, :creator, now.at, 1, now.at, cardinality(:members)
    FROM (SELECT {ChangeTime.now} AS at) now
    WHERE (SELECT obstacle FROM verdict) IS NULL
    ON CONFLICT DO NOTHING
    RETURNING slot, id, created_at
),
{count_people(user_slot => :creator_slot, user => :creator,
    people => SELECT cardinality(:members) - 1 AS people FROM fresh)},
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, title)
    SELECT slot, id, 1, {ChangeKind.conversationCreated}, :creator, created_at, :title FROM fresh
),
member AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
    SELECT f.slot, f.id, j.user_id, 1,
        CASE WHEN j.user_id = :creator OR :kind = {ConversationKind.direct} THEN {MemberRole.owner}
            ELSE {MemberRole.member} END
    FROM fresh f, joining j WHERE NOT (j.blocks_creator OR j.asks)
),
request AS (
    INSERT INTO store.requests (
        user_slot, user_id, conversation_id, slot, is_direct, direct_id, is_waiting, is_declined, at)
    SELECT a.user_slot, a.user_id, f.id, f.slot, :kind = {ConversationKind.direct}, a.direct_id, a.waits, NOT a.waits,
        f.created_at
    FROM fresh f, asked a
),
reader AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, left_seq, role, is_shadowed)
    SELECT f.slot, f.id, a.user_id, 1, {RequestsStatement.end},
        CASE WHEN :kind = {ConversationKind.direct} THEN {MemberRole.owner} ELSE {MemberRole.member} END, true
    FROM fresh f, asked a WHERE a.waits
),
shadow AS (
    INSERT INTO store.shadows (slot, conversation_id, user_id, joined_seq, role)
    SELECT f.slot, f.id, j.user_id, 1,
        CASE WHEN :kind = {ConversationKind.direct} THEN {MemberRole.owner} ELSE {MemberRole.member} END
    FROM fresh f, joining j WHERE j.blocks_creator OR j.asks
),
shadow_listed AS (
    INSERT INTO store.shadow_listings (user_slot, user_id, conversation_id)
    SELECT j.user_slot, j.user_id, f.id FROM fresh f, joining j WHERE j.blocks_creator OR j.asks
),
listed AS (
    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT j.user_slot, j.user_id, f.id, f.slot FROM fresh f, joining j WHERE NOT (j.blocks_creator OR j.asks)
),
told AS (
    SELECT j.user_slot, j.user_id, j.count + 1 AS count, false AS is_request
    FROM joining j WHERE NOT (j.blocks_creator OR j.asks)
    UNION ALL
    SELECT a.user_slot, a.user_id, a.count, true FROM asked a WHERE a.waits AND a.is_told
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT t.user_slot, t.user_id, 1, t.count FROM fresh f, told t
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count
    RETURNING user_slot, user_id, last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq, is_waiting)
    SELECT s.user_slot, s.user_id, s.last_useq,
        CASE WHEN t.is_request THEN {PrivateKind.request} ELSE {PrivateKind.conversationJoined} END,
        f.created_at, f.slot, f.id, 0, CASE WHEN t.is_request THEN true END
    FROM stream s JOIN told t ON t.user_id = s.user_id CROSS JOIN fresh f
)
SELECT s.user_id AS member, s.last_useq AS useq, f.created_at AS at, t.is_request, NULL::smallint AS obstacle
FROM stream s JOIN told t ON t.user_id = s.user_id CROSS JOIN fresh f
UNION ALL
SELECT NULL, NULL, NULL, NULL, coalesce(v.obstacle, CASE
    -- Who opens it as well says yes to it.
    WHEN EXISTS (
        SELECT FROM store.requests r
        WHERE r.user_slot = :creator_slot AND r.user_id = :creator AND r.conversation_id = :conversation
    ) THEN {CreationObstacle.isRequested}
    ELSE {CreationObstacle.idIsTaken} END)::smallint
FROM verdict v WHERE NOT EXISTS (SELECT FROM fresh)
