-- Opens the import of a conversation with its first members. The conversation is there at once, and in the members' lists by
-- its row alone: nobody has a stay in it before the end.
--
-- Locks: the conversation (lock_conversations) and its id (lock_keys), so two imports of it do not meet here; the members'
-- slots (lock_users), so nobody becomes erased meanwhile; their streams (begin_streams, lock_streams), so the number of
-- conversations in their lists stands until the commit.
--
-- :slot                 smallint
-- :conversation         uuid
-- :kind                 smallint    ConversationKind
-- :title                text        or NULL
-- :members              text[]      the creator first
-- :member_slots         smallint[]
-- :at                   timestamptz
-- :limit                integer     how many conversations others may put into a user's list
--
-- > verdict smallint ImportVerdict
WITH joining AS MATERIALIZED (
    SELECT u.user_id, u.user_slot, {conversation_count(user_slot => u.user_slot, user => u.user_id)} AS count,
        (SELECT true FROM store.erasures e
         WHERE e.user_slot = u.user_slot AND e.user_id = u.user_id) IS NOT NULL AS is_erased
    FROM unnest(:members, :member_slots) AS u(user_id, user_slot)
),
verdict AS MATERIALIZED (
    SELECT coalesce(
        -- The title and the members may have changed since.
        (SELECT CASE
            WHEN i.is_dropped THEN {ImportVerdict.hasEnded}
            WHEN i.conversation_id IS NOT NULL AND (c.kind, c.creator_id, c.created_at) = (:kind, :members[1], :at)
                THEN {ImportVerdict.repeated}
            ELSE {ImportVerdict.idIsTaken} END
         FROM store.conversations c
         LEFT JOIN store.imports i ON i.slot = c.slot AND i.conversation_id = c.id
         WHERE c.slot = :slot AND c.id = :conversation),
        CASE
            WHEN :at > {ChangeTime.now} THEN {ImportVerdict.isInFuture}
            WHEN (SELECT bool_or(j.is_erased) FROM joining j) THEN {ImportVerdict.isErased}
            WHEN (SELECT bool_or(j.count >= :limit) FROM joining j) THEN {ImportVerdict.hasTooMany}
            ELSE {ImportVerdict.stored}
        END) AS outcome
),
fresh AS (
    INSERT INTO store.conversations (slot, id, kind, title, creator_id, created_at, last_seq, last_at, member_count)
    SELECT :slot, :conversation, :kind, :title, :members[1], :at, 1, :at, cardinality(:members)
    FROM verdict v WHERE v.outcome = {ImportVerdict.stored}
    RETURNING slot, id
),
opened AS (
    INSERT INTO store.imports (slot, conversation_id) SELECT slot, id FROM fresh
),
-- The indexer may have left it behind, late, for an import of this id that was dropped.
no_progress AS (
    DELETE FROM store.search_positions p USING fresh f WHERE p.slot = :slot AND p.conversation_id = :conversation
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, title)
    SELECT slot, id, 1, {ChangeKind.conversationCreated}, :members[1], :at, :title FROM fresh
),
stay AS (
    INSERT INTO store.import_stays (slot, conversation_id, user_id, user_slot, joined_seq, role)
    SELECT f.slot, f.id, j.user_id, j.user_slot, 1,
        CASE WHEN j.user_id = :members[1] OR :kind = {ConversationKind.direct} THEN {MemberRole.owner}
            ELSE {MemberRole.member} END
    FROM fresh f, joining j
),
listed AS (
    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT j.user_slot, j.user_id, f.id, f.slot FROM fresh f, joining j
),
stream AS (
    UPDATE store.user_streams s SET conversation_count = j.count + 1
    FROM fresh f, joining j WHERE s.user_slot = j.user_slot AND s.user_id = j.user_id
)
SELECT v.outcome::smallint AS verdict FROM verdict v
