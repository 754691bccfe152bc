-- Who made the invitation that a code belongs to, whether it opens anything or not. No row: there is none.
--
-- :slot         smallint
-- :conversation uuid
-- :code_hash    uuid
--
-- > creator_id text
SELECT i.creator_id FROM store.invitations i
WHERE i.slot = :slot AND i.conversation_id = :conversation AND i.code_hash = :code_hash
