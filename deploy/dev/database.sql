-- The roles and the database of a development system. Run at every start; what exists stays.
--
-- A role per service, and every table has one writer.

SELECT format('CREATE ROLE %I LOGIN', service)
FROM unnest(ARRAY['store', 'receipt', 'media']) AS service
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = service) \gexec

SELECT 'CREATE DATABASE parley OWNER store'
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = 'parley') \gexec

\connect parley

GRANT CREATE ON DATABASE parley TO store, receipt, media;

-- What the two read of each other is granted by the files of ../database, which are run after the migrations. An older
-- system may still allow them everything.
ALTER DEFAULT PRIVILEGES FOR ROLE store REVOKE USAGE ON SCHEMAS FROM receipt;
ALTER DEFAULT PRIVILEGES FOR ROLE store REVOKE SELECT ON TABLES FROM receipt;
ALTER DEFAULT PRIVILEGES FOR ROLE receipt REVOKE USAGE ON SCHEMAS FROM store;
ALTER DEFAULT PRIVILEGES FOR ROLE receipt REVOKE SELECT ON TABLES FROM store;
