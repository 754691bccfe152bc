-- The roles and the database of a development system. Run at every start; what exists stays.
--
-- A role per service, and every table has one writer.

SELECT format('CREATE ROLE %I LOGIN', service)
FROM unnest(ARRAY['store', 'receipt']) AS service
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = service) \gexec

SELECT 'CREATE DATABASE parley OWNER store'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'parley') \gexec

\connect parley

GRANT CREATE ON DATABASE parley TO receipt;

ALTER DEFAULT PRIVILEGES FOR ROLE store GRANT USAGE ON SCHEMAS TO receipt;
-- What receipt reads is listed in ../database/receipt-reads.sql, which is run after the migrations. An older system may
-- still allow it everything.
ALTER DEFAULT PRIVILEGES FOR ROLE store REVOKE SELECT ON TABLES FROM receipt;
ALTER DEFAULT PRIVILEGES FOR ROLE receipt GRANT USAGE ON SCHEMAS TO store;
ALTER DEFAULT PRIVILEGES FOR ROLE receipt GRANT SELECT ON TABLES TO store;
