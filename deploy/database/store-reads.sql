-- What store reads of the schema `receipt`, to show receipts beside messages: the views that `receipt` publishes, which
-- are listed in Shared/Slots/Publications.swift.

GRANT USAGE ON SCHEMA receipt TO store;
REVOKE ALL ON ALL TABLES IN SCHEMA receipt FROM store;
SELECT format('GRANT SELECT ON receipt.%I TO store', viewname)
FROM pg_views WHERE schemaname = 'receipt' AND starts_with(viewname, 'published_') \gexec

-- Versions before the views read these tables themselves. While an upgrade goes on, one may still run, or be started again.
GRANT SELECT ON receipt.completions, receipt.horizons, receipt.positions, receipt.receipt_runs TO store;

-- Citus replaces a view by its tables and asks whether the caller may read these. There store may read the columns that the views
-- are made of, and no others: by the tables' names and by those of their shards, which are granted the same.
SELECT format('GRANT SELECT (%s) ON %I.%I TO store',
    string_agg(DISTINCT quote_ident(column_name), ', '), table_schema, table_name)
FROM information_schema.view_column_usage
WHERE view_schema = 'receipt' AND starts_with(view_name, 'published_') AND to_regclass('placement.slots') IS NOT NULL
GROUP BY table_schema, table_name \gexec
