-- What signed addresses are signed with.
--
-- > key text
SELECT k.key FROM media.signing_key k LIMIT 1
