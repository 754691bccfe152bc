-- What store reads of the schema `receipt`, to show receipts beside messages: the views that `receipt` publishes, which
-- are listed in Shared/Slots/Publications.swift.

GRANT USAGE ON SCHEMA receipt TO store;
REVOKE ALL ON ALL TABLES IN SCHEMA receipt FROM store;
SELECT format('GRANT SELECT ON receipt.%I TO store', viewname)
FROM pg_views WHERE schemaname = 'receipt' AND starts_with(viewname, 'published_') \gexec

-- Versions before the views read these tables themselves. While an upgrade goes on, one may still run, or be started again.
GRANT SELECT ON receipt.completions, receipt.horizons, receipt.positions, receipt.receipt_runs TO store;
