-- owner: store
-- The index of message texts: filled behind the writes, so that sending does not pay for it. Both extensions are
-- trusted: who may create schemas in the database may create them. They are ours, unless `public` has them already.

SET LOCAL search_path TO store, public;
CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA store;
CREATE EXTENSION IF NOT EXISTS btree_gin SCHEMA store;

-- A block is 1,024 positions of one conversation. Its name begins every word in the index, so that a search reads the
-- words of its conversations alone, newest block first, however common they are elsewhere. Where two blocks share a name,
-- a search filters more, which is all.
CREATE FUNCTION store.search_block(conversation uuid, seq bigint) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN lpad(to_hex((('x' || right(conversation::text, 8))::bit(32)::bigint + (seq >> 10)) & 4294967295), 8, '0');

-- One row per message whose text is indexed. It goes in the transaction that erases or replaces the text.
CREATE TABLE store.search_texts (
    slot            smallint    NOT NULL,
    conversation_id uuid        NOT NULL,
    seq             bigint      NOT NULL,  -- The message's.
    at              timestamptz NOT NULL,  -- When it was created.
    since_seq       bigint      NOT NULL,  -- The position since which it has this text: who left before has seen another.
    words           tsvector    NOT NULL,  -- Each with the name of its block before it.
    text            text        NOT NULL,  -- The words as they are compared, with spaces between them.
    PRIMARY KEY (conversation_id, seq, slot)
);
-- The planner's statistics would keep copies of deleted texts.
ALTER TABLE store.search_texts ALTER COLUMN words SET STATISTICS 0;
ALTER TABLE store.search_texts ALTER COLUMN text SET STATISTICS 0;

-- Both collect new entries (fastupdate, the default) until the indexer merges them, which it does after each batch: six
-- times less work than one by one.
CREATE INDEX search_words ON store.search_texts USING gin (words);
CREATE INDEX search_parts ON store.search_texts USING gin (store.search_block(conversation_id, seq), text gin_trgm_ops);

-- How far each conversation is indexed; without a row, not at all. The row is also the lock between the indexer and those
-- who change texts.
CREATE TABLE store.search_progress (
    slot            smallint NOT NULL,
    conversation_id uuid     NOT NULL,
    indexed_seq     bigint   NOT NULL,
    PRIMARY KEY (conversation_id, slot)
) WITH (fillfactor = 50);  -- Updated by every batch of the indexer: room for HOT updates.

-- Merges what was collected, in the table or all of its partitions. Only the owner of an index may, and the service need
-- not be the owner.
CREATE FUNCTION store.merge_search_index() RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog AS $$
    SELECT sum(gin_clean_pending_list(i.oid))::bigint FROM pg_class i
    JOIN pg_index x ON x.indexrelid = i.oid
    JOIN pg_am a ON a.oid = i.relam AND a.amname = 'gin'
    WHERE i.relkind = 'i' AND x.indrelid IN (
        SELECT 'store.search_texts'::regclass
        UNION ALL SELECT h.inhrelid FROM pg_inherits h WHERE h.inhparent = 'store.search_texts'::regclass)
$$;

SET LOCAL search_path TO DEFAULT;
