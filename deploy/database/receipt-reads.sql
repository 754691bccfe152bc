-- What receipt reads of the schema `store`: the views that `store` publishes, which are listed in
-- Shared/Slots/Publications.swift. No text and no title is among them.

GRANT USAGE ON SCHEMA store TO receipt;
REVOKE ALL ON ALL TABLES IN SCHEMA store FROM receipt;
SELECT format('GRANT SELECT ON store.%I TO receipt', viewname)
FROM pg_views WHERE schemaname = 'store' AND starts_with(viewname, 'published_') \gexec

-- Versions before the views read these columns of the tables themselves. While an upgrade goes on, one may still run, or
-- be started again.
GRANT SELECT (slot, id, kind, last_seq, last_at, member_count) ON store.conversations TO receipt;
GRANT SELECT (slot, conversation_id, seq, kind) ON store.changes TO receipt;
GRANT SELECT ON store.memberships, store.user_settings, store.conversation_settings TO receipt;
GRANT SELECT (user_slot, user_id, conversation_id, slot, told_read_seq) ON store.inbox TO receipt;
GRANT SELECT (user_slot, user_id) ON store.erasures TO receipt;

-- Citus replaces a view by its tables and asks whether the caller may read these. There receipt may read the columns that the views
-- are made of, and no others: by the tables' names and by those of their shards, which are granted the same.
SELECT format('GRANT SELECT (%s) ON %I.%I TO receipt',
    string_agg(DISTINCT quote_ident(column_name), ', '), table_schema, table_name)
FROM information_schema.view_column_usage
WHERE view_schema = 'store' AND starts_with(view_name, 'published_') AND to_regclass('placement.slots') IS NOT NULL
GROUP BY table_schema, table_name \gexec
