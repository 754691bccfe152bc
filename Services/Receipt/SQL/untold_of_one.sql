-- A page of the horizons of a conversation, and which of them are beyond what was told to the user's devices. It uses the
-- users' slots, too, where the told positions lie.
--
-- :slot         smallint
-- :conversation uuid
-- :after        text        the last user of the page before
-- :limit        bigint
--
-- > user_id   text
-- > read_seq  bigint
-- > is_untold boolean
SELECT h.user_id, h.read_seq, coalesce(h.read_seq > (
    SELECT i.told_read_seq FROM store.published_inbox i WHERE i.user_id = h.user_id AND i.conversation_id = :conversation
), false) AS is_untold
FROM receipt.horizons h
WHERE h.slot = :slot AND h.conversation_id = :conversation AND h.user_id > :after
ORDER BY h.user_id LIMIT :limit
