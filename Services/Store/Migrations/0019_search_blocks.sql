-- parley: compatible from 11
-- owner: store
-- The index of the search in a layout of its own: the texts of 64 positions of a conversation side by side in a row.
-- Executables of before keep theirs, in `search_texts` and `search_progress`; nobody else reads it. It goes with the first
-- migration that none of them work beside.

CREATE TABLE store.search_blocks (
    slot            smallint      NOT NULL,
    conversation_id uuid          NOT NULL,
    block           bigint        NOT NULL,  -- Of the messages' positions, divided by 64.
    part            smallint      NOT NULL,  -- A block of long texts has several, in no order.
    filter          bit(4096),               -- What groups of letters the texts have (`TextFilter`). NULL: not known, anything.
    latest          timestamptz   NOT NULL,  -- No text was created later: a search passes over what is older than it needs.
    seqs            bigint[]      NOT NULL,  -- Of each text the message's position,
    ats             timestamptz[] NOT NULL,  -- and when it was created.
    -- The words of each text as they are compared, with a space before each and one behind the last.
    texts           text[]        COLLATE "C" NOT NULL,
    PRIMARY KEY (conversation_id, block, part, slot)
) WITH (toast_tuple_target = 8160);  -- Inside the row while it fits into a page: reading it elsewhere takes longer.
ALTER TABLE store.search_blocks ALTER COLUMN filter SET STORAGE PLAIN;
ALTER TABLE store.search_blocks ALTER COLUMN seqs SET STORAGE MAIN;
ALTER TABLE store.search_blocks ALTER COLUMN ats SET STORAGE MAIN;
ALTER TABLE store.search_blocks ALTER COLUMN texts SET STORAGE EXTERNAL;
-- The planner's statistics would keep copies of deleted texts.
ALTER TABLE store.search_blocks ALTER COLUMN filter SET STATISTICS 0;
ALTER TABLE store.search_blocks ALTER COLUMN texts SET STATISTICS 0;

-- Whose filter is to be made: after a text was taken out, and of all that was indexed before.
CREATE INDEX search_unfiltered ON store.search_blocks (slot) WHERE filter IS NULL;

-- How far each conversation is indexed; without a row, not at all. The row is also the lock between the indexer and those
-- who change texts.
CREATE TABLE store.search_positions (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    indexed_seq     bigint   NOT NULL,
    PRIMARY KEY (conversation_id, slot)
) WITH (fillfactor = 50);  -- Updated by every batch of the indexer: room for HOT updates.

-- What was indexed before, as of one snapshot. What executables of before change meanwhile, and behind it, has higher positions.
WITH positions AS (
    INSERT INTO store.search_positions (slot, conversation_id, indexed_seq)
    SELECT slot, conversation_id, indexed_seq FROM store.search_progress
)
INSERT INTO store.search_blocks (slot, conversation_id, block, part, latest, seqs, ats, texts)
SELECT t.slot, t.conversation_id, t.seq / 64, t.part, max(t.at), array_agg(t.seq), array_agg(t.at), array_agg(t.line)
FROM (
    SELECT t.slot, t.conversation_id, t.seq, t.at, ' ' || t.text || ' ' AS line,
        sum(octet_length(t.text)) OVER (PARTITION BY t.conversation_id, t.slot, t.seq / 64 ORDER BY t.seq) / 5120 AS part
    FROM store.search_texts t
) t
GROUP BY t.conversation_id, t.slot, t.seq / 64, t.part;
