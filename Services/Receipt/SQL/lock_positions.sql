-- Locks positions in the order of their keys, so that no two batches wait for each other.
--
-- :slots         smallint[]
-- :conversations uuid[]
--
-- > count bigint    one dummy row, since rows cost
SELECT count(*) AS count FROM (
    SELECT FROM unnest(:slots, :conversations) AS k (slot, id)
    JOIN receipt.positions p ON p.slot = k.slot AND p.conversation_id = k.id
    ORDER BY p.conversation_id, p.slot
    FOR NO KEY UPDATE OF p
) l
