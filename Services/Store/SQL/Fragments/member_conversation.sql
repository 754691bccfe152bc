-- SELECT of conversations as most readers see them, from the CTE `page`: rows of store.conversations, `shown_at`, and the columns
-- of {present_stay}. Most have one stay, which lasts, and have hidden nothing at the end. That takes half of the nodes and
-- look-ups of {listed_conversation} (Tests/Load/PROFILE.md), which finds all others.
--
-- :reader
--
-- > {listed_conversation}
-- > is_whole boolean     whether the row is right
SELECT c.id AS conversation_id, c.kind AS conversation_kind, c.title, c.created_at AS conversation_created_at, c.last_seq,
    c.shown_at, c.member_count, c.role, ARRAY[c.joined_seq] AS joined, '{0}'::bigint[] AS ended, c.cleared_seq,
    unread.count::int AS unread_count, coalesce(h.read_seq, 0) AS read_seq, coalesce(h.delivered_seq, 0) AS delivered_seq,
    c.muted_until, c.muted_until > {ChangeTime.now} AS is_muted, c.pin_order, c.archived_seq, c.marked_unread_seq,
    c.draft_text, c.draft_reply_id, c.draft_at, c.permissions, c.lifetime, c.lifetime_seq,
    c.lifetime_from_reading, c.kept_from,
    unread.rest AS unread_rest, NULL::bigint AS latest_rest,
    {message_row}, {message_parts(slot => c.slot, voter => :reader, position => {Int64.max})},
    parent.sender_id AS parent_sender_id, left(parent.body, {Preview.codePoints}) AS parent_text,
    c.joined_seq IS NOT NULL AND (c.joined_seq = 1 OR (
        SELECT true FROM store.memberships s
        WHERE s.slot = c.slot AND s.conversation_id = c.id AND s.user_id = :reader AND s.joined_seq < c.joined_seq
        LIMIT 1) IS NULL)
    AND (
        SELECT true FROM store.hidden d
        WHERE d.slot = c.slot AND d.conversation_id = c.id AND d.user_id = :reader
          AND d.seq >= least(m.seq, greatest(h.read_seq, c.cleared_seq))
        LIMIT 1) IS NULL AS is_whole
FROM page c
LEFT JOIN LATERAL (
    SELECT h.read_seq, h.delivered_seq FROM receipt.published_horizons h
    WHERE h.slot = c.slot AND h.conversation_id = c.id AND h.user_id = :reader
    OFFSET 0
) h ON true
CROSS JOIN LATERAL (
    SELECT least(count(*) FILTER (
            WHERE m.sender_id <> :reader AND m.kind <> {MessageKind.system} AND m.deleted_at IS NULL),
            {UnreadStatement.limit}) AS count,
        CASE WHEN count(*) = {ConversationStatement.nearbyRows} THEN min(m.seq) END AS rest
    FROM (
        SELECT m.seq, m.sender_id, m.kind, m.deleted_at FROM store.messages m
        WHERE m.slot = c.slot AND m.conversation_id = c.id
          AND m.seq >= c.joined_seq AND m.seq > greatest(c.cleared_seq, h.read_seq)
          AND c.last_seq > greatest(c.cleared_seq, h.read_seq)  -- Else the index is not asked.
        ORDER BY m.seq DESC LIMIT {ConversationStatement.nearbyRows}
    ) m
) unread
LEFT JOIN LATERAL (
    SELECT m.* FROM store.messages m
    WHERE m.slot = c.slot AND m.conversation_id = c.id AND m.seq >= greatest(c.joined_seq, c.cleared_seq + 1)
    ORDER BY m.seq DESC LIMIT 1
) m ON true
LEFT JOIN LATERAL (
    SELECT p.sender_id, {shown_text(row => p, text => p.body)} AS body FROM store.messages p
    WHERE p.slot = c.slot AND p.conversation_id = c.id AND p.seq = m.reply_seq AND p.deleted_at IS NULL
      AND p.seq >= greatest(c.joined_seq, c.cleared_seq + 1)
      AND {is_not_hidden(slot => c.slot, conversation => c.id, seq => p.seq)}
    OFFSET 0
) parent ON true
