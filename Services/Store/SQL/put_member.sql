-- Takes a user into a conversation, or gives a member a role. Any member adds members; owners add owners and change roles.
-- Who comes back takes no new place in their list. `detail` is how many members there are with the new one.
--
-- Locks: the user's stream (lock_streams), so the list and the number of conversations in it stand until the commit; the
-- user's slot (lock_users), so nobody becomes erased meanwhile.
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
--
-- > {write_result}
WITH {prior_outcome},
{standing_of_actor},
{conversation_written_to},
{stay_of_user},
listing AS MATERIALIZED (
    SELECT {conversation_count(user_slot => :user_slot, user => :user)} AS count,
        (SELECT {Listing.isListed} FROM store.inbox i
         WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = :conversation) AS is_listed
),
verdict AS MATERIALIZED (
    SELECT d.problem, d.is_repeat,
        d.problem = {Problem.none} AND NOT d.is_repeat
            AND NOT coalesce((SELECT s.role = coalesce(:role, s.role) FROM stay s), false) AS is_due
    FROM standing LEFT JOIN prior p ON true CROSS JOIN LATERAL (
        SELECT p.problem IS NOT NULL AS is_repeat, CASE
            {problems_of_actor}
            WHEN NOT standing.is_member THEN {Problem.forbidden}
            WHEN (SELECT c.kind = {ConversationKind.direct} FROM conversation c) THEN {Problem.conflict}
            WHEN EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
                THEN {Problem.conflict}
            WHEN (SELECT l.is_listed IS NOT TRUE AND l.count >= :limit FROM listing l) THEN {Problem.conflict}
            WHEN NOT EXISTS (SELECT FROM stay) AND (
                SELECT count(*) FROM (
                    SELECT FROM store.memberships s
                    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
                    LIMIT {PutMember.staysLimit}) s) >= {PutMember.staysLimit} THEN {Problem.conflict}
            WHEN NOT standing.is_owner
                AND coalesce(:role <> coalesce((SELECT s.role FROM stay s), {MemberRole.member}), false)
                THEN {Problem.forbidden}
            WHEN NOT EXISTS (SELECT FROM stay)
                AND (SELECT c.member_count >= {ContractLimits.membersPerConversation} FROM conversation c)
                THEN {Problem.tooLarge}
            ELSE {Problem.none}
        END AS problem
        OFFSET 0
    ) d
),
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + 1, last_at = greatest({ChangeTime.now}, c.last_at),
        member_count = c.member_count + CASE WHEN EXISTS (SELECT FROM stay) THEN 0 ELSE 1 END
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at
),
{keep_outcome},
joined AS (
    INSERT INTO store.memberships (slot, conversation_id, user_id, joined_seq, role)
    SELECT :slot, :conversation, :user, moved.last_seq, coalesce(:role, {MemberRole.member})
    FROM moved WHERE NOT EXISTS (SELECT FROM stay)
    RETURNING joined_seq
),
listed AS (
    INSERT INTO store.inbox AS i (user_slot, user_id, conversation_id, slot)
    SELECT :user_slot, :user, :conversation, :slot FROM joined
    ON CONFLICT (user_id, conversation_id, user_slot) DO UPDATE SET is_removed = false WHERE i.is_removed
),
promoted AS (
    UPDATE store.memberships s SET role = :role FROM moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.left_seq IS NULL
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role)
    SELECT :slot, :conversation, moved.last_seq,
        CASE WHEN EXISTS (SELECT FROM stay) THEN {ChangeKind.memberChanged} ELSE {ChangeKind.memberAdded} END,
        :actor, moved.last_at, :user, coalesce(:role, {MemberRole.member})
    FROM moved
),
{show_in_history},
-- The new member's private stream says so.
stream AS (
    INSERT INTO store.user_streams AS s (user_slot, user_id, last_useq, conversation_count)
    SELECT :user_slot, :user, 1, l.count + CASE WHEN l.is_listed THEN 0 ELSE 1 END FROM joined, listing l
    ON CONFLICT (user_id, user_slot)
    DO UPDATE SET last_useq = s.last_useq + 1, conversation_count = excluded.conversation_count,
        unlisted_count = s.unlisted_count - (SELECT CASE WHEN NOT l.is_listed THEN 1 ELSE 0 END FROM listing l)
    RETURNING last_useq
),
private_change AS (
    INSERT INTO store.user_changes (user_slot, user_id, useq, kind, at, slot, conversation_id, seq)
    SELECT :user_slot, :user, stream.last_useq, {PrivateKind.conversationJoined}, moved.last_at, :slot, :conversation,
        moved.last_seq - 1
    FROM stream, moved
)
SELECT {write_result(
    positions => 1, useq => (SELECT stream.last_useq FROM stream),
    detail => (SELECT c.member_count + 1 FROM conversation c))}
FROM verdict v LEFT JOIN moved ON true
