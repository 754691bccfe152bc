-- SELECT of conversations as their reader sees them, from the CTE `page`: rows of store.conversations, and `shown_at`
-- (see shown_at).
--
-- :reader
--
-- > conversation_id         uuid
-- > conversation_kind       smallint     ConversationKind
-- > title                   text         or NULL
-- > conversation_created_at timestamptz
-- > last_seq                bigint       up to which the reader sees it
-- > shown_at                timestamptz
-- > member_count            integer
-- > role                    smallint     MemberRole, in the last stay
-- > joined                  bigint[]     of the stays
-- > ended                   bigint[]     0: it lasts
-- > cleared_seq             bigint
-- > unread_count            integer
-- > read_seq                bigint
-- > delivered_seq           bigint
-- > muted_until             timestamptz  or NULL, like what follows up to draft_at
-- > is_muted                boolean      now
-- > pin_order               bigint
-- > archived_seq            bigint
-- > marked_unread_seq       bigint
-- > draft_text              text
-- > draft_reply_id          uuid
-- > draft_at                timestamptz
-- > permissions             smallint     GroupPermissions; NULL: the reader is no member
-- > lifetime                integer      of new messages, in seconds; NULL: they stay, or the reader is no member
-- > lifetime_seq            bigint       since this position
-- > lifetime_from_reading   boolean      whether it counts from reading on; NULL: it does not
-- > kept_from               bigint       the first position whose message is kept; NULL: all are
-- > unread_rest             bigint       the lowest position looked at for the count, if there are earlier ones
-- > latest_rest             bigint       the lowest position looked at for the latest message, if there are earlier ones
-- > {message_with_parent}                the latest message
SELECT c.id AS conversation_id, c.kind AS conversation_kind,
    -- A former member sees the title at the end of their stay.
    CASE WHEN c.last_seq <= stay.last_seq THEN c.title ELSE (
        SELECT h.title FROM store.changes h
        WHERE h.slot = c.slot AND h.conversation_id = c.id
          AND h.kind IN ({ChangeKind.conversationCreated}, {ChangeKind.conversationRenamed}) AND h.seq <= stay.last_seq
        ORDER BY h.seq DESC LIMIT 1
    ) END AS title,
    c.created_at AS conversation_created_at, least(c.last_seq, stay.last_seq) AS last_seq, c.shown_at,
    CASE WHEN c.last_seq <= stay.last_seq THEN c.member_count
        ELSE {member_count_as_of(
            slot => c.slot, conversation => c.id, present => c.member_count, position => stay.last_seq)} END AS member_count,
    stay.role, stay.joined, stay.ended, stay.cleared_seq,
    unread.count::int AS unread_count, coalesce(h.read_seq, 0) AS read_seq, coalesce(h.delivered_seq, 0) AS delivered_seq,
    c.muted_until, c.muted_until > {ChangeTime.now} AS is_muted, c.pin_order, c.archived_seq, c.marked_unread_seq,
    c.draft_text, c.draft_reply_id, c.draft_at, CASE WHEN stay.last_seq = {Int64.max} THEN c.permissions END AS permissions,
    CASE WHEN stay.last_seq = {Int64.max} THEN c.lifetime END AS lifetime, c.lifetime_seq, c.lifetime_from_reading,
    -- A former member is told no position behind the end.
    CASE WHEN c.kept_from IS NOT NULL THEN least(c.kept_from - 1, stay.last_seq) + 1 END AS kept_from,
    unread.rest AS unread_rest, latest.rest AS latest_rest,
    {message_with_parent(slot => c.slot, position => stay.last_seq)}
FROM page c
CROSS JOIN LATERAL (
    SELECT array_agg(s.joined_seq ORDER BY s.joined_seq) AS joined,
        array_agg(coalesce(s.left_seq, 0) ORDER BY s.joined_seq) AS ended,
        (array_agg(s.role ORDER BY s.joined_seq DESC))[1] AS role, max(s.cleared_seq) AS cleared_seq,
        max(coalesce(s.left_seq, {Int64.max})) AS last_seq,
        (SELECT true FROM store.hidden d
         WHERE d.slot = c.slot AND d.conversation_id = c.id AND d.user_id = :reader LIMIT 1) IS NOT NULL AS hides
    FROM store.memberships s
    WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = :reader
) stay
LEFT JOIN LATERAL (
    SELECT h.read_seq, h.delivered_seq FROM receipt.published_horizons h
    WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.user_id = :reader
    OFFSET 0
) h ON true
CROSS JOIN LATERAL (
    SELECT least(count(*) FILTER (
            WHERE m.sender_id <> :reader AND m.kind <> {MessageKind.system} AND m.deleted_at IS NULL AND {is_visible_nearby}),
            {UnreadStatement.limit}) AS count,
        CASE WHEN count(*) = {ConversationStatement.nearbyRows} THEN min(m.seq) END AS rest
    FROM ({nearby_rows(
        limit => {ConversationStatement.nearbyRows}, after => greatest(coalesce(h.read_seq, 0), stay.cleared_seq))}) m
) unread
CROSS JOIN LATERAL (
    SELECT max(m.seq) FILTER (WHERE {is_visible_nearby}) AS seq,
        CASE WHEN count(*) = {ConversationStatement.nearbyRows} AND NOT bool_or({is_visible_nearby}) THEN min(m.seq) END
            AS rest
    FROM ({nearby_rows(
        limit => CASE WHEN stay.hides THEN {ConversationStatement.nearbyRows} ELSE 1 END, after => stay.cleared_seq)}) m
) latest
LEFT JOIN LATERAL (
    SELECT m.* FROM store.messages m
    WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.seq = latest.seq
    OFFSET 0
) m ON true
LEFT JOIN LATERAL (
    SELECT p.sender_id, {shown_text(row => p, text => {text_as_of(slot => c.slot, row => p, position => stay.last_seq)})} AS body FROM store.messages p
    WHERE p.slot = c.slot AND p.conversation_id = c.id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
      AND p.seq > stay.cleared_seq
      AND EXISTS (SELECT FROM store.memberships s
                  WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = :reader
                    AND p.seq BETWEEN s.joined_seq AND coalesce(s.left_seq, p.seq))
      AND {is_not_hidden(slot => c.slot, conversation => c.id, seq => p.seq)}
) parent ON true
WHERE stay.joined IS NOT NULL
