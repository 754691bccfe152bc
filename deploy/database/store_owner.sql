-- What the services may do with the schema `store`. Run by its owner, or a superuser, after every migration of it.

GRANT USAGE ON SCHEMA store TO store;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA store TO store;
REVOKE INSERT, UPDATE, DELETE ON store.migrations, store.migrations_beside, store.deployment FROM store;

\ir receipt-reads.sql
