-- Whether a service `media` keeps files for this system: whether its schema has been set up. Always one row. On Citus the
-- list of migrations is on the coordinator alone, and this is asked at a worker.
--
-- > has_media boolean
SELECT EXISTS (
    SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = 'media' AND c.relname = 'objects'
) AS has_media
