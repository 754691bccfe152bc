-- Renews the row of a member.
--
-- :member bigint
INSERT INTO {schema}.services (id, seen_at) VALUES (:member, clock_timestamp())
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at
