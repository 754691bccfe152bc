-- Like untold_of_one, of all conversations of some slots. Of one that is being imported, nobody is told anything.
--
-- :after_conversation uuid        of the last row of the page before
-- :after_user         text
-- :slots              smallint[]
-- :limit              bigint
--
-- > conversation_id uuid
-- > user_id         text
-- > read_seq        bigint
-- > is_untold       boolean
WITH page AS MATERIALIZED (
    SELECT h.conversation_id, h.user_id, h.read_seq FROM receipt.horizons h
    WHERE (h.conversation_id, h.user_id) > (:after_conversation, :after_user) AND h.slot = ANY (:slots)
    ORDER BY h.conversation_id, h.user_id LIMIT :limit
)
SELECT p.conversation_id, p.user_id, p.read_seq, coalesce(p.read_seq > (
    SELECT i.told_read_seq FROM store.published_inbox i
    WHERE i.user_id = p.user_id AND i.conversation_id = p.conversation_id AND NOT EXISTS (
        SELECT FROM store.published_imports o
        WHERE o.slot = i.slot AND o.conversation_id = i.conversation_id AND o.ended_at IS NULL)
), false) AS is_untold
FROM page p ORDER BY p.conversation_id, p.user_id
