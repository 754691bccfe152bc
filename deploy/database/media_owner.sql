-- What the service may do with the schema `media`. Run by its owner, or a superuser, after every migration of it.

GRANT USAGE ON SCHEMA media TO media;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA media TO media;
REVOKE INSERT, UPDATE, DELETE ON media.migrations, media.migrations_beside, media.signing_key FROM media;

-- On Citus each worker has a table of its own of who owns slots there.
SELECT format('SELECT result FROM run_command_on_workers(%L) WHERE NOT success',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON media.services TO media')
WHERE to_regclass('placement.slots') IS NOT NULL \gexec
