-- On Citus: how far users were told that they have read, of the rows that are borrowed. Of a conversation that is being imported
-- nobody is told anything.
--
-- > conversation_id uuid
-- > user_id         text
-- > told_read_seq   bigint
SELECT i.conversation_id, i.user_id, i.told_read_seq FROM store.published_inbox i
WHERE NOT EXISTS (
    SELECT FROM store.published_imports o
    WHERE o.slot = i.slot AND o.conversation_id = i.conversation_id AND o.ended_at IS NULL)
