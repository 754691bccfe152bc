-- A user's private changes after a position, and the position of the stream, in one snapshot. One row without a change: there
-- is none. Changes that are no longer kept are left out, so the first one may lie higher than requested.
--
-- :user_slot smallint
-- :user      text
-- :after     bigint
-- :limit     bigint
--
-- > last_useq                  bigint         of the stream
-- > useq                       bigint         NULL without a change, like all that follows
-- > kind                       smallint       PrivateKind
-- > at                         timestamptz
-- > conversation_id            uuid           NULL: it is of no conversation
-- > seq                        bigint         or NULL
-- > last_seq                   bigint         of the conversation, as the user sees it
-- > message_id                 uuid           or NULL
-- > conversation_read_receipts boolean        what the user has decided for the conversation, or NULL
-- > read_receipts              boolean        what the user has decided for all, or NULL
-- > presence                   boolean        or NULL
-- > member_count               integer
-- > muted_until                timestamptz    of a mark, as the following: what the user keeps of the conversation
-- > pin_order                  bigint
-- > archived_seq               bigint
-- > marked_unread_seq          bigint
-- > read_seq                   bigint         how far the user has read, of a mark as unread
-- > about_id                   text           of a block or a request to join, or NULL
-- > is_blocked                 boolean        of a block, or NULL
-- > is_waiting                 boolean        of a request, or NULL
-- > profile_version            bigint         of the user's profile, or NULL
-- > draft_text                 text           of the draft that this change has told of; NULL: there is none, or a later change has it
-- > draft_reply_id             uuid           or NULL
-- > scheduled_at               timestamptz    of the scheduled message that this change has told of, as the following; NULL: as a draft
-- > scheduled_text             text
-- > scheduled_reply_id         uuid           or NULL
-- > scheduled_mentions         text           or NULL
-- > scheduled_extra            text           or NULL
-- > scheduled_problem          smallint       or NULL
-- > scheduled_failed_at        timestamptz    or NULL
SELECT coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = :user_slot AND u.user_id = :user), 0)
        AS last_useq,
    f.useq, f.kind, f.at, f.conversation_id, f.seq, least(f.last_seq, f.end_seq) AS last_seq, f.message_id,
    CASE WHEN f.kind = {PrivateKind.settingsChanged} THEN (
        SELECT c.read_receipts FROM store.conversation_settings c
        WHERE c.slot = f.slot AND c.conversation_id = f.conversation_id AND c.user_id = :user) END
        AS conversation_read_receipts,
    CASE WHEN f.kind = {PrivateKind.settingsChanged} THEN (
        SELECT u.read_receipts FROM store.user_settings u WHERE u.user_slot = :user_slot AND u.user_id = :user) END
        AS read_receipts,
    CASE WHEN f.kind = {PrivateKind.settingsChanged} THEN (
        SELECT u.presence FROM store.user_settings u WHERE u.user_slot = :user_slot AND u.user_id = :user) END AS presence,
    CASE WHEN f.end_seq < f.last_seq
        THEN {member_count_as_of(
            slot => f.slot, conversation => f.conversation_id, present => f.member_count, position => f.end_seq)}
        ELSE f.member_count END AS member_count,
    i.muted_until, i.pin_order, i.archived_seq, i.marked_unread_seq,
    CASE WHEN f.kind = {PrivateKind.markedUnread} THEN coalesce((
        SELECT h.read_seq FROM receipt.published_horizons h
        WHERE h.slot = f.slot AND h.conversation_id = f.conversation_id AND h.user_id = :user), 0) END AS read_seq,
    f.about_id, f.is_blocked, f.is_waiting,
    CASE WHEN f.kind = {PrivateKind.profileChanged} THEN (
        SELECT p.version FROM store.profiles p WHERE p.user_slot = :user_slot AND p.user_id = :user) END AS profile_version,
    CASE WHEN f.kind = {PrivateKind.draft} THEN i.draft_text END AS draft_text,
    CASE WHEN f.kind = {PrivateKind.draft} THEN i.draft_reply_id END AS draft_reply_id,
    x.at AS scheduled_at, x.body AS scheduled_text, x.reply_to AS scheduled_reply_id, x.mentions AS scheduled_mentions,
    x.extra AS scheduled_extra, x.problem AS scheduled_problem, x.failed_at AS scheduled_failed_at
FROM (VALUES (1)) one
LEFT JOIN LATERAL (
    SELECT h.useq, h.kind, h.at, h.slot, h.conversation_id, h.seq, c.last_seq, c.member_count, h.message_id,
        h.about_id, h.is_blocked, h.is_waiting,
        CASE WHEN h.kind = {PrivateKind.conversationJoined}
            THEN {end_of_view(slot => h.slot, conversation => h.conversation_id, reader => :user)} END AS end_seq
    FROM store.user_changes h
    LEFT JOIN store.conversations c ON c.slot = h.slot AND c.id = h.conversation_id
    WHERE h.user_slot = :user_slot AND h.user_id = :user AND h.useq > :after
    ORDER BY h.useq LIMIT :limit
) f ON true
LEFT JOIN LATERAL (
    SELECT {marks_of_listing} FROM store.inbox i
    WHERE i.user_slot = :user_slot AND i.user_id = :user AND i.conversation_id = f.conversation_id
      AND (f.kind BETWEEN {PrivateKind.muted} AND {PrivateKind.markedUnread}
           OR f.kind = {PrivateKind.draft} AND f.useq = i.draft_useq)
    OFFSET 0
) i ON true
LEFT JOIN LATERAL (
    SELECT x.* FROM store.scheduled x
    WHERE f.kind = {PrivateKind.scheduled} AND x.user_slot = :user_slot AND x.user_id = :user
      AND x.conversation_id = f.conversation_id AND x.message_id = f.message_id AND x.useq = f.useq
    OFFSET 0
) x ON true
ORDER BY f.useq
