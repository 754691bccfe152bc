-- What the services may do with the schema `store`. Run by its owner, or a superuser, after every migration of it.

-- Together, so that the role is at no moment granted more than in the end.
BEGIN;
GRANT USAGE ON SCHEMA store TO store;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA store TO store;
REVOKE INSERT, UPDATE, DELETE ON store.migrations, store.migrations_beside, store.deployment FROM store;

-- The audit log is added to, and the status of an act noted: nothing in it is changed or removed.
REVOKE UPDATE, DELETE ON store.acts FROM store;
GRANT UPDATE (status) ON store.acts TO store;
COMMIT;

-- On Citus each worker has a table of its own of who owns slots there.
SELECT format('SELECT result FROM run_command_on_workers(%L) WHERE NOT success',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON store.services TO store')
WHERE to_regclass('placement.slots') IS NOT NULL \gexec

\ir receipt-reads.sql
