-- CTEs that end the present stay of a user: `moved`, and all that belongs to it. The removal takes a position, and the
-- promotion of the next owner the one behind it.
--
-- :slot
-- :conversation
-- :actor
-- :user
-- :user_slot
moved AS (
    UPDATE store.conversations c
    SET last_seq = c.last_seq + (SELECT 1 + count(*) FROM next_owner), last_at = greatest({ChangeTime.now}, c.last_at),
        member_count = c.member_count - 1
    FROM verdict v
    WHERE c.slot = :slot AND c.id = :conversation AND v.is_due
    RETURNING c.last_seq, c.last_at, c.last_at AS announced_at
),
removal AS (
    SELECT moved.last_seq - (SELECT count(*) FROM next_owner) AS seq, moved.last_at AS at FROM moved
),
departed AS (
    UPDATE store.memberships s SET left_seq = removal.seq FROM removal
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
      AND (s.left_seq IS NULL OR s.left_seq = {RequestsStatement.end})  -- A request ends, too.
    RETURNING s.user_id
),
-- What was declined stays so, and what was not counts on ({may_ask}): taking out must not be a way to ask for ever.
no_request AS (
    UPDATE store.requests r SET is_waiting = false FROM removal
    WHERE r.user_slot = :user_slot AND r.user_id = :user AND r.conversation_id = :conversation AND r.is_waiting
),
-- By what they invited nobody comes any more.
no_invitations AS (
    DELETE FROM store.invitations i USING removal
    WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.creator_id = :user
),
departed_shadow AS (
    UPDATE store.shadows s SET left_seq = removal.seq FROM removal
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.left_seq IS NULL
),
inherited AS (
    UPDATE store.memberships s SET role = {MemberRole.owner} FROM next_owner, moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = next_owner.user_id
      AND (s.left_seq IS NULL OR s.left_seq = {RequestsStatement.end})
),
inherited_shadow AS (
    UPDATE store.shadows s SET role = {MemberRole.owner} FROM next_owner, moved
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = next_owner.user_id AND s.left_seq IS NULL
),
shown AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, sent_at, created_at)
    SELECT :slot, :conversation, p.seq, gen_random_uuid(), p.seq, :actor, {MessageKind.system}, p.at, p.at
    FROM (SELECT seq, at FROM removal UNION ALL SELECT moved.last_seq, moved.last_at FROM moved, next_owner) p
),
change AS (
    INSERT INTO store.changes (slot, conversation_id, seq, kind, actor_id, at, user_id, role, member_count, prior_role)
    SELECT :slot, :conversation, seq, {ChangeKind.memberRemoved}, :actor, at, :user, (SELECT s.role FROM stay s),
        (SELECT c.member_count - 1 FROM conversation c), NULL
    FROM removal
    UNION ALL
    SELECT :slot, :conversation, moved.last_seq, {ChangeKind.memberChanged}, :actor, moved.last_at, next_owner.user_id,
        {MemberRole.owner}, NULL, next_owner.role
    FROM moved, next_owner
),
-- Of whom there was a shadow alone is not told.
told AS (SELECT moved.announced_at FROM moved WHERE EXISTS (SELECT FROM departed)),
{tell_user(
    kind => {PrivateKind.conversationLeft}, message => NULL::uuid, seq => (SELECT seq FROM removal), unlisted => 0,
    source => told)},
{drop_draft(source => told)}
