-- Finds out where the reader may look, searches there, and returns the messages as the reader sees them: one statement, which
-- fans out over slots unless the inbox is one conversation's. At least one row, without a message if there is none.
--
-- It looks in two places. The index is searched in steps of conversations, latest activity first. The search stops when the
-- results so far are newer than the latest activity of all further conversations. Unindexed texts of the searched
-- conversations are returned as candidates. `SearchTerms` decides whether they match, because only it knows how texts are
-- compared.
--
-- :reader
-- :limit
-- :before_at
-- :before_conversation
-- :before_seq
-- :needle
-- :patterns
-- :probes
-- :ascii_patterns
-- :inbox                  which rows `i` of store.inbox
--
-- > {message_with_parent}
-- > conversation_id uuid       NULL without a message
-- > is_indexed      boolean    found by the index; else a candidate
-- > is_known        boolean    the reader is or was in one of the conversations
WITH RECURSIVE stays AS MATERIALIZED (
    -- The stretches of conversations that the reader sees, latest activity first. `position` is the last one of the
    -- conversation that the reader may see; texts are read as of it. Not all of the conversation is indexed yet where
    -- something was written behind the stretch, too: a text of it may have been edited there.
    SELECT c.slot, c.id AS conversation_id, greatest(s.joined_seq, s.cleared_seq + 1) AS first_seq,
        least(c.last_seq, s.left_seq) AS last_seq, coalesce(p.indexed_seq, 0) AS indexed_seq,
        coalesce(p.indexed_seq, 0) = c.last_seq AS is_indexed, c.last_at,
        max(coalesce(s.left_seq, {Int64.max})) OVER (PARTITION BY c.slot, c.id) AS position,
        row_number() OVER (ORDER BY c.last_at DESC, c.id DESC, s.joined_seq DESC) AS place
    FROM (SELECT i.slot, i.conversation_id, i.user_id FROM store.inbox i WHERE :inbox OFFSET 0) i
    CROSS JOIN LATERAL (
        SELECT * FROM store.conversations c WHERE c.slot = i.slot AND c.id = i.conversation_id OFFSET 0
    ) c
    CROSS JOIN LATERAL (
        SELECT * FROM store.memberships s
        WHERE s.slot = i.slot AND s.conversation_id = i.conversation_id AND s.user_id = i.user_id OFFSET 0
    ) s
    LEFT JOIN store.search_positions p ON p.slot = i.slot AND p.conversation_id = i.conversation_id
),
steps AS (
    -- Each step takes twice as many stretches as the one before.
    SELECT 0::bigint AS done, {SearchStatements.firstStep}::bigint AS size, '{}'::smallint[] AS slots,
        '{}'::uuid[] AS conversations, '{}'::bigint[] AS seqs, '{}'::bigint[] AS positions, '{}'::timestamptz[] AS ats
    UNION ALL
    SELECT step.done + step.size, 2 * step.size, found.*
    FROM steps step CROSS JOIN LATERAL (
        SELECT coalesce(array_agg(slot), '{}'), coalesce(array_agg(conversation_id), '{}'),
            coalesce(array_agg(seq), '{}'), coalesce(array_agg(position), '{}'), coalesce(array_agg(at), '{}')
        FROM (
            SELECT * FROM unnest(step.slots, step.conversations, step.seqs, step.positions, step.ats)
                AS f(slot, conversation_id, seq, position, at)
            UNION ALL
            (SELECT s.slot, s.conversation_id, f.seq, s.position, f.at
             FROM stays s CROSS JOIN LATERAL (
                -- The blocks of a stretch from the newest on, until there are enough results: the last of them to its end,
                -- because its texts are in no order. Older blocks than the results of the steps before are passed over.
                SELECT h.seq, h.at FROM (
                    SELECT t.seq, t.at FROM store.search_blocks b CROSS JOIN LATERAL (
                        -- Functions in a SELECT are read one by one, in FROM they would be stored first.
                        SELECT t.seq, t.at FROM (
                            SELECT b.seqs[l.n] AS seq, b.ats[l.n] AS at FROM (
                                SELECT unnest(b.texts) AS text, generate_subscripts(b.texts, 1) AS n
                            ) l
                            WHERE {holds_words(text => l.text)} OFFSET 0
                        ) t
                        WHERE t.seq BETWEEN s.first_seq AND s.last_seq
                          AND (t.at, s.conversation_id, t.seq) < (:before_at, :before_conversation, :before_seq)
                          AND {is_not_hidden(slot => s.slot, conversation => s.conversation_id, seq => t.seq)}
                          AND {is_as_of(slot => s.slot, conversation => s.conversation_id, seq => t.seq, position => s.position)}
                        OFFSET 0
                    ) t
                    WHERE b.slot = s.slot AND b.conversation_id = s.conversation_id
                      AND b.block BETWEEN s.first_seq / {SearchBlock.positions} AND s.last_seq / {SearchBlock.positions}
                      AND (b.latest < step.ats[:limit]) IS NOT TRUE AND {may_hold_words(filter => b.filter)}
                    ORDER BY b.block DESC FETCH FIRST (:limit) ROWS WITH TIES
                ) h
                ORDER BY h.seq DESC LIMIT :limit
             ) f
             WHERE s.place > step.done AND s.place <= step.done + step.size)
            ORDER BY at DESC, conversation_id DESC, seq DESC LIMIT :limit
        ) newest
    ) found
    WHERE (SELECT cardinality(step.ats) < :limit OR step.ats[:limit] <= s.last_at
           FROM stays s WHERE s.place = step.done + 1)
),
last_step AS MATERIALIZED (SELECT * FROM steps ORDER BY done DESC LIMIT 1),
unindexed AS MATERIALIZED (
    -- The texts to examine, newest first, and only the newest that there is room for.
    SELECT u.slot, u.conversation_id, u.seq, u.position
    FROM (
        SELECT u.*, sum(u.bytes) OVER (ORDER BY u.place) - u.bytes AS before
        FROM ({unindexed_texts}) u
    ) u
    WHERE u.before < {SearchStatements.unindexedBytes}
)
SELECT {message_with_parent(slot => m.slot, position => m.position)}, m.conversation_id, m.is_indexed, known.is_known
FROM (SELECT EXISTS (SELECT FROM stays) AS is_known) known
LEFT JOIN (
    SELECT m.*, f.position, f.is_indexed
    FROM (
        SELECT f.*, true AS is_indexed
        FROM last_step l, unnest(l.slots, l.conversations, l.seqs, l.positions)
            AS f(slot, conversation_id, seq, position)
        UNION ALL
        SELECT u.slot, u.conversation_id, u.seq, u.position, false FROM unindexed u
    ) f
    CROSS JOIN LATERAL (
        SELECT * FROM store.messages m
        WHERE m.slot = f.slot AND m.conversation_id = f.conversation_id AND m.seq = f.seq AND m.body IS NOT NULL
        OFFSET 0
    ) m
) m ON true
LEFT JOIN LATERAL ({parent_of_reply(slot => m.slot, position => m.position)}) parent ON true
ORDER BY m.created_at DESC, m.conversation_id DESC, m.seq DESC
