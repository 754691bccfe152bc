-- The texts of a message, oldest first, the present one last. No row: this reader sees no such message, or it was deleted for
-- everyone. A former member sees the texts up to their removal.
--
-- :slot         smallint
-- :conversation uuid
-- :reader       text
-- :message      uuid
--
-- > body      text
-- > at        timestamptz
-- > is_sealed boolean
WITH {visible_message}
SELECT t.body, t.at, t.is_sealed FROM (
    SELECT u.*, m.kind = {MessageKind.sealed} AS is_sealed, lag(u.replaced_seq, 1, 0::bigint) OVER (ORDER BY u.replaced_seq) AS came_seq
    FROM visible m, LATERAL (
        SELECT r.body, r.at, r.replaced_seq FROM store.revisions r
        WHERE r.slot = :slot AND r.conversation_id = :conversation AND r.message_id = :message
        UNION ALL
        SELECT m.body, coalesce(m.edited_at, m.created_at), {Int64.max}
    ) u
    WHERE m.body IS NOT NULL
) t
WHERE t.came_seq <= {end_of_stays}
ORDER BY t.replaced_seq
