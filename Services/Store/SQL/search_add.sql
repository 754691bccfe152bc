-- Adds texts to the index and records up to where conversations are indexed, under the locks of its progress (lock_searches).
-- A conversation that somebody else has indexed since it was read is skipped. So is a text that was edited or deleted since:
-- the change has a higher position and is dealt with there. A chunk is texts of one block, which lie in one part of it.
--
-- :slots               smallint[]
-- :conversations       uuid[]
-- :since               bigint[]     the positions up to which the conversations were indexed when they were read
-- :through             bigint[]     and are now
-- :chunk_slots         smallint[]
-- :chunk_conversations uuid[]
-- :blocks              bigint[]
-- :places              smallint[]   of the chunk in its block, from 0
-- :filters             text[]       hexadecimal
-- :chunks              integer[]    which one each text is in, from 1
-- :seqs                bigint[]
-- :bodies              text[]       the texts as they were read
-- :texts               text[]       their words, as they are in the index
--
-- > conversation_id uuid    one that was not skipped
WITH advanced AS (
    UPDATE store.search_positions p SET indexed_seq = i.through
    FROM unnest(:slots, :conversations, :since, :through) AS i (slot, conversation_id, since, through)
    WHERE p.slot = i.slot AND p.conversation_id = i.conversation_id AND p.indexed_seq = i.since
    RETURNING p.slot, p.conversation_id
),
gathered AS (
    SELECT c.slot, c.conversation_id, c.block, c.place,
        CASE WHEN count(m.seq) = count(*) THEN ('x' || c.filter)::bit(4096) END AS filter,
        max(m.created_at) AS latest, array_agg(m.seq) FILTER (WHERE m.seq IS NOT NULL) AS seqs,
        array_agg(m.created_at) FILTER (WHERE m.seq IS NOT NULL) AS ats,
        array_agg(i.text) FILTER (WHERE m.seq IS NOT NULL) AS texts
    FROM unnest(:chunk_slots, :chunk_conversations, :blocks, :places, :filters)
        WITH ORDINALITY AS c (slot, conversation_id, block, place, filter, number)
    JOIN advanced a ON a.slot = c.slot AND a.conversation_id = c.conversation_id
    JOIN unnest(:chunks, :seqs, :bodies, :texts) AS i (chunk, seq, body, text) ON i.chunk = c.number
    LEFT JOIN LATERAL (
        SELECT m.seq, m.created_at FROM store.messages m
        WHERE m.slot = c.slot AND m.conversation_id = c.conversation_id AND m.seq = i.seq AND m.body = i.body OFFSET 0
    ) m ON true
    GROUP BY c.number, c.slot, c.conversation_id, c.block, c.place, c.filter
    HAVING count(m.seq) > 0
),
added AS (
    INSERT INTO store.search_blocks AS b (slot, conversation_id, block, part, filter, latest, seqs, ats, texts)
    SELECT g.slot, g.conversation_id, g.block, coalesce(l.part, 0) + g.place, g.filter, g.latest, g.seqs, g.ats, g.texts
    FROM gathered g
    LEFT JOIN LATERAL (
        -- The last part if it has room, else the next.
        SELECT l.part + (pg_column_size(l.texts) >= {SearchBlock.partBytes})::integer AS part FROM store.search_blocks l
        WHERE l.slot = g.slot AND l.conversation_id = g.conversation_id AND l.block = g.block
        ORDER BY l.part DESC LIMIT 1
    ) l ON true
    ON CONFLICT (conversation_id, block, part, slot) DO UPDATE
        SET filter = b.filter | excluded.filter, latest = greatest(b.latest, excluded.latest),
            seqs = b.seqs || excluded.seqs, ats = b.ats || excluded.ats, texts = b.texts || excluded.texts
)
SELECT a.conversation_id FROM advanced a
