-- What the services may do with the schema `receipt`. Run by its owner, or a superuser, after every migration of it.

GRANT USAGE ON SCHEMA receipt TO receipt;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA receipt TO receipt;
REVOKE INSERT, UPDATE, DELETE ON receipt.migrations, receipt.migrations_beside FROM receipt;

-- On Citus each worker has a table of its own of who owns slots there.
SELECT format('SELECT result FROM run_command_on_workers(%L) WHERE NOT success',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON receipt.services TO receipt')
WHERE to_regclass('placement.slots') IS NOT NULL \gexec

\ir store-reads.sql
