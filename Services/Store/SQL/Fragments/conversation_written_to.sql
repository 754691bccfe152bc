-- CTE `conversation`: the conversation before the write.
--
-- :slot
-- :conversation
conversation AS MATERIALIZED (
    SELECT c.kind, c.last_seq, c.member_count, c.permissions, c.lifetime, c.lifetime_from_reading
    FROM store.conversations c WHERE c.slot = :slot AND c.id = :conversation
)
