-- parley: compatible from 11
-- owner: store
-- The merge of what the search index has collected keeps its plan between calls: as a function in SQL it was planned anew
-- each time, which took four fifths of a merge of little.
CREATE OR REPLACE FUNCTION store.merge_search_index() RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog AS $$
BEGIN
    RETURN (
        SELECT sum(gin_clean_pending_list(i.oid))::bigint FROM pg_class i
        JOIN pg_index x ON x.indexrelid = i.oid
        JOIN pg_am a ON a.oid = i.relam AND a.amname = 'gin'
        WHERE i.relkind = 'i' AND x.indrelid IN (
            SELECT 'store.search_texts'::regclass
            UNION ALL SELECT h.inhrelid FROM pg_inherits h WHERE h.inhparent = 'store.search_texts'::regclass));
END
$$;
