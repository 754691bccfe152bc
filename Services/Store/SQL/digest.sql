-- Digests of what a reader sees of a conversation, page by page. All pages and the positions they are exact at come from one
-- snapshot. A page is a thousand positions of the conversation for every reader, so page boundaries never move. The lines of
-- a digest are those of "Comparing copies" in docs/api.md, so every client computes the same ones. No row: the reader never
-- was a member. One row without a page: no page ends after the requested position.
--
-- A page is read and released before the next one, and a text is present only as its hash. So a page takes no more memory
-- than its thousand lines, however long its texts are.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :reader_slot  smallint
-- :after        bigint
-- :pages        bigint      how many pages at most
--
-- > last_seq  bigint    the position of the conversation, as the reader sees it
-- > last_useq bigint    the position of the reader's private stream
-- > from_seq  bigint    the first position of the page; NULL without one
-- > to_seq    bigint
-- > changes   text      SHA-256 in hexadecimal digits
-- > state     text
WITH {stays_of_reader},
position AS MATERIALIZED (
    SELECT least(c.last_seq, max(s.last_seq)) AS last_seq
    FROM store.conversations c, stays s
    WHERE c.slot = :slot AND c.id = :conversation
    GROUP BY c.last_seq
), pages AS MATERIALIZED (
    SELECT DISTINCT n.number * {DigestStatement.pagePositions} + 1 AS first_seq,
        least((n.number + 1) * {DigestStatement.pagePositions}, p.last_seq) AS last_seq
    FROM position p, stays s, LATERAL (
        SELECT greatest(s.joined_seq - 1, :after) / {DigestStatement.pagePositions} AS first,
            (least(s.last_seq, p.last_seq) - 1) / {DigestStatement.pagePositions} AS last
        WHERE p.last_seq > :after
    ) page, LATERAL generate_series(page.first, least(page.last, page.first + :pages - 1)) AS n(number)
    ORDER BY 1 LIMIT :pages
)
SELECT p.last_seq,
    coalesce((SELECT u.last_useq FROM store.user_streams u WHERE u.user_slot = :reader_slot AND u.user_id = :reader), 0)
        AS last_useq,
    page.first_seq AS from_seq, page.last_seq AS to_seq,
    CASE WHEN page.first_seq IS NOT NULL THEN (
        SELECT {digest_of_lines} FROM (
            -- Every change: position, kind, subject, actor. A message that the reader does not see is not named.
            SELECT m.seq, concat_ws(' ', m.seq, {ChangeKind.messageCreated.name}, m.id, m.sender_id) AS line
            FROM stays s, LATERAL (
                SELECT m.* FROM store.messages m
                WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.kind <> {MessageKind.system}
                  AND m.seq BETWEEN greatest(s.joined_seq, page.first_seq) AND least(s.last_seq, page.last_seq)
                OFFSET 0
            ) m
            UNION ALL
            SELECT h.seq, concat_ws(' ', h.seq,
                CASE h.kind
                    WHEN {ChangeKind.messageCreated} THEN {ChangeKind.messageCreated.name}
                    WHEN {ChangeKind.messageEdited} THEN {ChangeKind.messageEdited.name}
                    WHEN {ChangeKind.messageDeleted} THEN {ChangeKind.messageDeleted.name}
                    WHEN {ChangeKind.tapbackSet} THEN {ChangeKind.tapbackSet.name}
                    WHEN {ChangeKind.tapbackRemoved} THEN {ChangeKind.tapbackRemoved.name}
                    WHEN {ChangeKind.memberAdded} THEN {ChangeKind.memberAdded.name}
                    WHEN {ChangeKind.memberRemoved} THEN {ChangeKind.memberRemoved.name}
                    WHEN {ChangeKind.conversationCreated} THEN {ChangeKind.conversationCreated.name}
                    WHEN {ChangeKind.conversationRenamed} THEN {ChangeKind.conversationRenamed.name}
                    WHEN {ChangeKind.memberChanged} THEN {ChangeKind.memberChanged.name}
                    WHEN {ChangeKind.permissionsChanged} THEN {ChangeKind.permissionsChanged.name}
                    WHEN {ChangeKind.messagePinned} THEN {ChangeKind.messagePinned.name}
                    WHEN {ChangeKind.messageUnpinned} THEN {ChangeKind.messageUnpinned.name}
                    WHEN {ChangeKind.lifetimeChanged} THEN {ChangeKind.lifetimeChanged.name}
                    WHEN {ChangeKind.pollVoted} THEN {ChangeKind.pollVoted.name}
                    WHEN {ChangeKind.pollClosed} THEN {ChangeKind.pollClosed.name}
                    WHEN {ChangeKind.historyTrimmed} THEN {ChangeKind.historyTrimmed.name}
                END,
                coalesce(
                    CASE WHEN h.message_id IS NOT NULL THEN (
                        SELECT m.id::text FROM store.messages m
                        WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.id = h.message_id
                          AND EXISTS (SELECT FROM stays o WHERE m.seq BETWEEN o.joined_seq AND o.last_seq)) END,
                    CASE WHEN h.kind IN (
                        {ChangeKind.memberAdded}, {ChangeKind.memberRemoved}, {ChangeKind.memberChanged}) THEN h.user_id END,
                    '-'),
                h.actor_id) AS line
            FROM stays s, LATERAL (
                SELECT h.* FROM store.changes h
                WHERE h.slot = :slot AND h.conversation_id = :conversation
                  AND h.seq BETWEEN greatest(s.joined_seq, page.first_seq) AND least(s.last_seq, page.last_seq)
                OFFSET 0
            ) h
        ) l
    ) END AS changes,
    CASE WHEN page.first_seq IS NOT NULL THEN (
        SELECT {digest_of_lines} FROM (
            -- Every message as history shows it: position, id, sender, parent, edit time, mentions, tapbacks, hash of its
            -- text; of a poll also the votes for each option.
            SELECT m.seq, concat_ws(' ', m.seq, m.id, m.sender_id, coalesce(m.reply_to::text, '-'),
                coalesce(to_char({edited_at_as_of(position => p.last_seq)} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '-'),
                coalesce(nullif(array_to_string(array_remove(m.mentions, {Mentions.everybody}), ','), ''), '-'),
                -- `kind:count` in the order of the kinds' bytes, separated by commas.
                coalesce(CASE WHEN m.tapback_count > 0 THEN (
                    SELECT string_agg(t.key || ':' || t.value, ',' ORDER BY t.key COLLATE "C")
                    FROM jsonb_each_text({tapback_counts(position => p.last_seq)}) t) END, '-'),
                coalesce(encode(sha256(convert_to(nullif({text_as_of(row => m, position => p.last_seq)}, ''), 'UTF8')), 'hex'), '-'),
                CASE WHEN m.kind = {MessageKind.poll} THEN (
                    SELECT CASE WHEN k.closed_seq <= p.last_seq THEN 'closed:' ELSE 'open:' END || (
                        SELECT string_agg(o.votes::text, ',' ORDER BY o.place) FROM unnest(n.counts) WITH ORDINALITY AS o(votes, place))
                    FROM store.polls k, {votes_as_of(position => p.last_seq)}
                    WHERE k.slot = m.slot AND k.conversation_id = m.conversation_id AND k.message_id = m.id) END
            ) AS line
            FROM stays s, LATERAL (
                SELECT m.* FROM store.messages m
                WHERE m.slot = :slot AND m.conversation_id = :conversation AND m.kind <> {MessageKind.system}
                  AND m.seq BETWEEN greatest(s.first_seq, page.first_seq) AND least(s.last_seq, page.last_seq)
                  -- Once for the page, not for each of its messages.
                  AND m.seq <> ALL (ARRAY(
                      SELECT d.seq FROM store.hidden d
                      WHERE d.slot = :slot AND d.conversation_id = :conversation AND d.user_id = :reader
                        AND d.seq BETWEEN page.first_seq AND page.last_seq))
                OFFSET 0
            ) m
        ) l
    ) END AS state
FROM position p
LEFT JOIN pages page ON true
ORDER BY page.first_seq
