-- Deletes the row of a member.
--
-- :member bigint
DELETE FROM {schema}.services WHERE id = :member
