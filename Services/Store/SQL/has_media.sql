-- Whether a service `media` keeps files for this system: whether its schema has been set up. Always one row.
--
-- > has_media boolean
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'media' AND c.relname = 'migrations'
) AS has_media
