-- Which of a subscriber's conversations have moved on.
--
-- :slot          smallint
-- :conversations uuid[]
-- :versions      bigint[]    that the subscriber has
--
-- > conversation_id uuid
-- > status_version  bigint
SELECT p.conversation_id, p.status_version FROM unnest(:conversations, :versions) AS held (conversation_id, version)
JOIN receipt.positions p ON p.slot = :slot AND p.conversation_id = held.conversation_id
WHERE p.status_version > held.version
