-- Sends the first message of a user in a conversation whose time has come, and forgets that it was scheduled; or keeps why it may not
-- be sent. It finds what send_messages finds, under the same locks, and whether an administrator has suspended its author, which is
-- known at the edges where a client sends. A message that its author has sent under the id meanwhile is the one that was scheduled.
--
-- Locks: the conversation (lock_conversations), the author's erasure (lock_users) and stream (lock_streams), which what they have
-- scheduled stands under. So whoever cancels it or changes it comes before or behind.
--
-- :slot               smallint
-- :conversation       uuid
-- :user               text
-- :user_slot          smallint
-- :answers_attachments boolean    whether what carries attachments may be replied to
--
-- > is_due        boolean        NULL: none is, and all that follows
-- > id            uuid
-- > text          text
-- > parent        uuid           or NULL
-- > mentions      text           or NULL
-- > extra         text           or NULL
-- > due_at        timestamptz
-- > useq          bigint         the private change that tells of it
-- > told_at       timestamptz
-- > problem       smallint       Problem.Code; NULL: it is sent
-- > seq           bigint         NULL: nothing was stored, and all that follows
-- > created_at    timestamptz
-- > member_count  integer
-- > is_deleted    boolean        it was deleted for everyone before it came
-- > parent_seq    bigint         or NULL
-- > parent_sender text           or NULL
-- > parent_text   text           NULL where the author hid or cleared the parent
WITH due AS MATERIALIZED (
    SELECT s.message_id, s.at, s.body, s.reply_to, s.mentions, s.extra FROM store.scheduled s
    WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.conversation_id = :conversation AND s.problem IS NULL
      AND s.at <= (SELECT {ChangeTime.now})
      AND NOT EXISTS (SELECT FROM store.erasures e WHERE e.user_slot = :user_slot AND e.user_id = :user)
    ORDER BY s.at, s.message_id LIMIT 1
),
parent AS MATERIALIZED (
    SELECT p.seq, p.sender_id, CASE WHEN s.cleared_seq < p.seq AND (
        SELECT true FROM store.hidden d
        WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :user AND d.seq = p.seq) IS NULL
        THEN {shown_text(row => p, text => p.body)} END AS body
    FROM store.messages p CROSS JOIN LATERAL (
        SELECT s.cleared_seq FROM store.memberships s
        WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user
          AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq)
        LIMIT 1
    ) s
    WHERE p.slot = :slot AND p.conversation_id = :conversation AND p.id = (SELECT d.reply_to FROM due d)
      AND p.kind IN ({MessageKind.text}, {MessageKind.reply}, {MessageKind.poll}) AND p.deleted_at IS NULL
      AND (p.attachments IS NULL OR :answers_attachments)
),
judged AS MATERIALIZED (
    SELECT m.is_deleted, m.role,
        CASE
            WHEN m.role IS NULL AND {is_imported_member} THEN {SendVerdict.conversationIsImported}
            WHEN m.role IS NULL THEN {SendVerdict.unknownConversation}
            WHEN m.known IS NOT NULL THEN m.known
            WHEN EXISTS (
                SELECT FROM store.suspensions s
                WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.mode IN ({SuspensionMode.readOnly}, {SuspensionMode.out})
                  AND (s.until IS NULL OR s.until > (SELECT {ChangeTime.now}))) THEN {SendVerdict.senderIsSuspended}
            WHEN m.role = 0 THEN {SendVerdict.senderHasLeft}
            WHEN m.reply_to IS NOT NULL AND NOT EXISTS (SELECT FROM parent) THEN {SendVerdict.notReplyable}
            WHEN left(m.mentions, 1) = {Mentions.everybody} AND {may_mention_all(sender => :user)} IS NOT TRUE
                THEN {SendVerdict.mayNotMentionAll}
            ELSE {SendVerdict.stored}
        END AS outcome
    FROM (
        SELECT d.*, {presence_of_sender(sender => :user)} AS role,
            (SELECT CASE WHEN k.sender_id <> :user THEN {SendVerdict.idIsTaken} ELSE {SendVerdict.repeated} END
             FROM store.messages k
             WHERE k.slot = :slot AND k.conversation_id = :conversation AND k.id = d.message_id) AS known,
            {was_deleted_early(id => d.message_id, sender => :user)} AS is_deleted
        FROM due d
        OFFSET 0
    ) m
),
{advance_by_one},
inserted AS (
    INSERT INTO store.messages (slot, conversation_id, seq, id, changed_seq, sender_id, kind, body, reply_to, reply_seq, mentions, extra, sent_at, created_at, deleted_at)
    SELECT :slot, :conversation, a.last_seq, d.message_id, a.last_seq, :user,
        CASE WHEN d.reply_to IS NULL THEN {MessageKind.text} ELSE {MessageKind.reply} END,
        CASE WHEN NOT j.is_deleted THEN d.body END, d.reply_to, (SELECT p.seq FROM parent p),
        CASE WHEN NOT j.is_deleted THEN string_to_array(d.mentions, ',') END, CASE WHEN NOT j.is_deleted THEN d.extra END,
        a.last_at, a.last_at, CASE WHEN j.is_deleted THEN a.last_at END
    FROM advanced a, judged j, due d
),
-- What keeps it from being sent. Where the role may not write, nothing advances.
moved AS MATERIALIZED (
    SELECT {ChangeTime.now} AS announced_at, CASE
        WHEN j.outcome = {SendVerdict.repeated} OR EXISTS (SELECT FROM advanced) THEN NULL
        WHEN j.outcome IN ({SendVerdict.idIsTaken}, {SendVerdict.conversationIsImported}) THEN {Problem.conflict}
        WHEN j.outcome = {SendVerdict.unknownConversation} THEN {Problem.notFound}
        WHEN j.outcome = {SendVerdict.notReplyable} THEN {Problem.notReplyable}
        WHEN j.outcome = {SendVerdict.senderIsSuspended} THEN {Problem.suspended}
        ELSE {Problem.forbidden}
    END::smallint AS problem
    FROM judged j
),
{tell_user(
    kind => {PrivateKind.scheduled}, message => (SELECT d.message_id FROM due d), seq => NULL::bigint, unlisted => 0,
    source => moved)},
sent AS (
    DELETE FROM store.scheduled s USING due d, moved
    WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.conversation_id = :conversation AND s.message_id = d.message_id
      AND moved.problem IS NULL
),
failed AS (
    UPDATE store.scheduled s SET problem = moved.problem, failed_at = moved.announced_at, useq = stream.last_useq
    FROM due d, moved, stream
    WHERE s.user_slot = :user_slot AND s.user_id = :user AND s.conversation_id = :conversation AND s.message_id = d.message_id
      AND moved.problem IS NOT NULL
)
SELECT d.at IS NOT NULL AS is_due, d.message_id AS id, d.body AS text, d.reply_to AS parent, d.mentions, d.extra, d.at AS due_at,
    (SELECT stream.last_useq FROM stream) AS useq, m.announced_at AS told_at, m.problem, a.last_seq AS seq,
    a.last_at AS created_at, a.member_count, j.is_deleted, p.seq AS parent_seq, p.sender_id AS parent_sender,
    p.body AS parent_text
FROM (VALUES (1)) one LEFT JOIN due d ON true LEFT JOIN judged j ON true LEFT JOIN moved m ON true
LEFT JOIN advanced a ON true LEFT JOIN parent p ON true
