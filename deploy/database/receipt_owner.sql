-- What the services may do with the schema `receipt`. Run by its owner, or a superuser, after every migration of it.

GRANT USAGE ON SCHEMA receipt TO receipt;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA receipt TO receipt;
REVOKE INSERT, UPDATE, DELETE ON receipt.migrations, receipt.migrations_beside FROM receipt;

\ir store-reads.sql
