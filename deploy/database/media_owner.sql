-- What the service may do with the schema `media`. Run by its owner, or a superuser, after every migration of it.

GRANT USAGE ON SCHEMA media TO media;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA media TO media;
REVOKE INSERT, UPDATE, DELETE ON media.migrations, media.migrations_beside, media.signing_key FROM media;
