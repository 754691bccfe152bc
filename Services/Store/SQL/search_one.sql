-- Finds messages in one conversation.
--
-- :reader              text
-- :reader_slot         smallint
-- :limit               bigint         one more than wanted, to detect further results
-- :before_at           timestamptz    of the last result of the page before
-- :before_conversation uuid
-- :before_seq          bigint
-- :needle              text           what a matching text holds in the index,
-- :patterns            text[]         and what else, as patterns of LIKE
-- :probes              integer[]      up to eight bits that the filter of its block has
-- :ascii_patterns      text[]         patterns that hold in any matching text without a character beyond ASCII
-- :slot                smallint
-- :conversation        uuid
--
-- > {find_messages}
{find_messages(
    inbox => i.user_slot = :reader_slot AND i.user_id = :reader AND i.slot = :slot AND i.conversation_id = :conversation)}
