-- Creates a conversation with its first members and reports it on each member's private stream. Who has blocked the creator is
-- a member to the others alone (`shadows`), and is told nothing. Returns one row per member who is told. If nothing is created, it
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
--
-- > member     text         NULL with an obstacle
-- > useq       bigint       NULL with an obstacle
-- > at         timestamptz  NULL with an obstacle
-- > obstacle   smallint     CreationObstacle, or NULL
WITH joining AS MATERIALIZED (
    SELECT u.user_id, u.user_slot, {conversation_count(user_slot => u.user_slot, user => u.user_id)} AS count,
        (SELECT true FROM store.erasures e
         WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id) IS NOT NULL AS is_erased,
        (SELECT true FROM store.blocks b
         WHERE b.user_slot = u.user_slot AND b.user_id = u.user_id AND b.blocked_id = :creator) IS NOT NULL AS blocks_creator,
        (SELECT true FROM store.blocks b
         WHERE b.user_slot = :creator_slot AND b.user_id = :creator AND b.blocked_id = u.user_id) IS NOT NULL AS is_blocked
    FROM unnest(:members, :member_slots) AS u(user_id, user_slot)
),
verdict AS MATERIALIZED (
    SELECT CASE
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
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, title)
    SELECT slot, id, 1, {ChangeKind.conversationCreated}, :creator, created_at, :title FROM fresh
),
member AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
    SELECT f.slot, f.id, j.user_id, 1,
        CASE WHEN j.user_id = :creator OR :kind = {ConversationKind.direct} THEN {MemberRole.owner}
            ELSE {MemberRole.member} END
    FROM fresh f, joining j WHERE NOT j.blocks_creator
),
shadow AS (
    INSERT INTO store.shadows (slot, conversation_id, user_id, joined_seq, role)
    SELECT f.slot, f.id, j.user_id, 1,
        CASE WHEN :kind = {ConversationKind.direct} THEN {MemberRole.owner} ELSE {MemberRole.member} END
    FROM fresh f, joining j WHERE j.blocks_creator
),
shadow_listed AS (
    INSERT INTO store.shadow_listings (user_slot, user_id, conversation_id)
    SELECT j.user_slot, j.user_id, f.id FROM fresh f, joining j WHERE j.blocks_creator
),
listed AS (
    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT j.user_slot, j.user_id, f.id, f.slot FROM fresh f, joining j WHERE NOT j.blocks_creator
),
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT j.user_slot, j.user_id, 1, j.count + 1 FROM fresh f, joining j WHERE NOT j.blocks_creator
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count
    RETURNING user_slot, user_id, last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
    SELECT s.user_slot, s.user_id, s.last_useq, {PrivateKind.conversationJoined}, f.created_at, f.slot, f.id, 0
    FROM stream s, fresh f
)
SELECT s.user_id AS member, s.last_useq AS useq, f.created_at AS at, NULL::smallint AS obstacle FROM stream s, fresh f
UNION ALL
SELECT NULL, NULL, NULL, coalesce(v.obstacle, {CreationObstacle.idIsTaken})::smallint
FROM verdict v WHERE NOT EXISTS (SELECT FROM fresh)
