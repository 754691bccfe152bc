-- Imports a change of members: one came, went, or got the other role. Where the last owner goes, the longest-standing member
-- becomes one, at a position of its own behind the removal. What happened earlier has taken its positions (import_messages).
--
-- Locks: the user's slot (lock_users), so nobody becomes erased meanwhile; their stream (begin_streams, lock_streams), so the
-- list and the number of conversations in it stand until the commit.
--
-- :slot         smallint
-- :conversation uuid
-- :user         text
-- :user_slot    smallint
-- :kind         smallint    ChangeKind
-- :at           timestamptz
-- :actor        text        NULL: the creator; who went, the user
-- :limit        integer     how many conversations others may put into a user's list
-- :member_limit integer     how many members a conversation may have
--
-- > verdict smallint ImportVerdict
WITH {import_state},
stay AS MATERIALIZED (
    SELECT s.role FROM store.import_stays s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.left_seq IS NULL
),
acting AS MATERIALIZED (
    SELECT coalesce(:actor, CASE WHEN :kind = {ChangeKind.memberRemoved} THEN :user ELSE state.creator_id END) AS actor
    FROM state
),
listing AS MATERIALIZED (
    SELECT {conversation_count(user_slot => :user_slot, user => :user)} AS count,
        (SELECT true FROM store.inbox i
         WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = :conversation) IS NOT NULL AS is_listed
),
verdict AS MATERIALIZED (
    SELECT coalesce((
        SELECT CASE
            WHEN :at <= state.last_at AND EXISTS (
                SELECT FROM store.changes h
                WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.kind = :kind AND h.at = :at
                  AND h.user_id = :user) THEN {ImportVerdict.repeated}
            {import_refusals}
            -- Nobody leaves a direct conversation but by an erasure.
            WHEN state.kind = {ConversationKind.direct} AND :kind <> {ChangeKind.memberRemoved} THEN {ImportVerdict.isDirect}
            WHEN :kind <> {ChangeKind.memberAdded} AND NOT EXISTS (SELECT FROM stay) THEN {ImportVerdict.isNoMember}
            WHEN :kind = {ChangeKind.memberAdded} AND EXISTS (SELECT FROM stay) THEN {ImportVerdict.isMember}
            -- Who joined by an invitation was added by themselves.
            WHEN (SELECT NOT {is_imported_member(user => a.actor)} AND NOT (:kind = {ChangeKind.memberAdded} AND a.actor = :user)
                FROM acting a) THEN {ImportVerdict.isNoMember}
            WHEN :kind <> {ChangeKind.memberAdded} THEN {ImportVerdict.stored}
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
                THEN {ImportVerdict.isErased}
            WHEN (SELECT NOT l.is_listed AND l.count >= :limit FROM listing l) THEN {ImportVerdict.hasTooMany}
            WHEN state.member_count >= :member_limit THEN {ImportVerdict.tooManyMembers}
            WHEN (SELECT count(*) FROM store.import_stays s
                  WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user)
                >= {PutMember.staysLimit} THEN {ImportVerdict.tooManyStays}
            ELSE {ImportVerdict.stored}
        END FROM state), {ImportVerdict.noImport}) AS outcome
),
next_owner AS MATERIALIZED (
    SELECT s.user_id FROM store.import_stays s, verdict v
    WHERE v.outcome = {ImportVerdict.stored} AND :kind = {ChangeKind.memberRemoved}
      AND s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL AND s.user_id <> :user
      AND (SELECT leaver.role = {MemberRole.owner} FROM stay leaver) AND NOT EXISTS (
        SELECT FROM store.import_stays o
        WHERE o.slot = :slot AND o.conversation_id = :conversation AND o.left_seq IS NULL
          AND o.role = {MemberRole.owner} AND o.user_id <> :user)
    ORDER BY s.joined_seq, s.user_id LIMIT 1
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1 + (SELECT count(*) FROM next_owner), last_at = :at,
        member_count = c.member_count + CASE :kind
            WHEN {ChangeKind.memberAdded} THEN 1 WHEN {ChangeKind.memberRemoved} THEN -1 ELSE 0 END
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.outcome = {ImportVerdict.stored}
    RETURNING c.last_seq - (SELECT count(*) FROM next_owner) AS seq, c.member_count
),
joined AS (
    INSERT INTO store.import_stays (slot, conversation_id, user_id, user_slot, joined_seq, role)
    SELECT :slot, :conversation, :user, :user_slot, moved.seq, {MemberRole.member} FROM moved WHERE :kind = {ChangeKind.memberAdded}
    RETURNING joined_seq
),
-- A user's messages are found by the list when the user is erased.
listed AS (
    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
    SELECT :user_slot, :user, :conversation, :slot FROM joined, listing l WHERE NOT l.is_listed
),
stream AS (
    UPDATE store.user_streams s SET conversation_count = l.count + 1
    FROM joined, listing l WHERE NOT l.is_listed AND s.user_slot = :user_slot AND s.user_id = :user
),
changed AS (
    UPDATE store.import_stays s
    SET left_seq = CASE WHEN :kind = {ChangeKind.memberRemoved} THEN moved.seq END,
        role = CASE
            WHEN :kind = {ChangeKind.memberRemoved} THEN s.role
            WHEN s.role = {MemberRole.owner} THEN {MemberRole.member}
            ELSE {MemberRole.owner}
        END
    FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL
      -- Not by an OR, nor a join, which would go through all members.
      AND s.user_id = CASE WHEN :kind <> {ChangeKind.memberAdded} THEN :user END
),
inherited AS (
    UPDATE store.import_stays s SET role = {MemberRole.owner} FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.left_seq IS NULL
      AND s.user_id = (SELECT h.user_id FROM next_owner h)
),
shown AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, sent_at, created_at)
    SELECT :slot, :conversation, p.seq, gen_random_uuid(), p.seq, a.actor, {MessageKind.system}, :at, :at
    FROM acting a, (SELECT moved.seq FROM moved UNION ALL SELECT moved.seq + 1 FROM moved, next_owner) p
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role, member_count)
    SELECT :slot, :conversation, moved.seq, :kind, a.actor, :at, :user,
        CASE
            WHEN :kind = {ChangeKind.memberAdded} THEN {MemberRole.member}
            WHEN :kind = {ChangeKind.memberRemoved} THEN (SELECT s.role FROM stay s)
            WHEN (SELECT s.role = {MemberRole.owner} FROM stay s) THEN {MemberRole.member}
            ELSE {MemberRole.owner}
        END,
        CASE WHEN :kind = {ChangeKind.memberRemoved} THEN moved.member_count END
    FROM moved, acting a
    UNION ALL
    SELECT :slot, :conversation, moved.seq + 1, {ChangeKind.memberChanged}, a.actor, :at, h.user_id, {MemberRole.owner}, NULL
    FROM moved, acting a, next_owner h
)
SELECT v.outcome::smallint AS verdict FROM verdict v
