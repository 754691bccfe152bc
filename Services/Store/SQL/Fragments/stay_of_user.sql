-- CTE `stay`: the present stay of the user that a write is about, as others see it.
--
-- :slot
-- :conversation
-- :user
stay AS MATERIALIZED (
    SELECT s.role FROM store.published_appearances s
    WHERE s.slot = :slot AND s.conversation_id = :conversation AND s.user_id = :user AND s.left_seq IS NULL
)
