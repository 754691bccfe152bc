-- The roles and the database of a deployed system. Run by a superuser at every start; what exists stays.
--
-- The owners make tables and nothing else connects as them. The services read and write the tables of their own schema;
-- what they may read of the other's is granted by name: see the files beside this one. `maintenance` is for `parley scrub`.

SET client_min_messages = warning;  -- not what is there already

SELECT format('CREATE ROLE %I LOGIN', name)
FROM unnest(ARRAY['store', 'store_owner', 'receipt', 'receipt_owner', 'media', 'media_owner', 'maintenance']) AS name
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) \gexec

-- Only an owner rewrites a table. What else scrubbing does: look for old transactions, and make the log begin anew.
GRANT store_owner, receipt_owner, media_owner, pg_monitor, pg_checkpoint TO maintenance;

SELECT 'CREATE DATABASE parley'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'parley') \gexec

REVOKE ALL ON DATABASE parley FROM PUBLIC;
GRANT CONNECT ON DATABASE parley TO store, receipt, media;
GRANT CONNECT, CREATE ON DATABASE parley TO store_owner, receipt_owner, media_owner;

\connect parley
REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT EXECUTE ON FUNCTION pg_switch_wal() TO maintenance;
-- Citus brings roles to all nodes, but no rights on functions of PostgreSQL.
SELECT $$SELECT run_command_on_workers('GRANT EXECUTE ON FUNCTION pg_switch_wal() TO maintenance')$$
WHERE EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') \gexec

-- On Citus a store borrows rows of other nodes, in temporary tables.
SELECT 'GRANT TEMPORARY ON DATABASE parley TO store'
WHERE EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') \gexec

-- And all tables have one owner there, because Citus moves a shard beside traffic by one subscription for each
-- (docs/decisions/0089-one-owner-of-a-clusters-tables.md): who connects as one of the other two acts as that one. The
-- last is for a cluster of before.
SELECT statement FROM unnest(ARRAY[
    'GRANT store_owner TO receipt_owner, media_owner',
    'ALTER ROLE receipt_owner SET role = store_owner',
    'ALTER ROLE media_owner SET role = store_owner',
    'REASSIGN OWNED BY receipt_owner, media_owner TO store_owner']) AS statement
WHERE EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') \gexec
