-- Deletes the rows of members that have been dead for a minute.
DELETE FROM {schema}.services WHERE seen_at < clock_timestamp() - interval '1 minute'
