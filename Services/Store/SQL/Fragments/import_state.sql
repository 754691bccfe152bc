-- CTE `state`: the conversation of an import, one row; none where nothing is imported.
--
-- :slot
-- :conversation
state AS MATERIALIZED (
    SELECT c.kind, c.creator_id, c.last_seq, c.last_at, c.member_count, i.ended_at IS NULL AND NOT i.is_dropped AS is_open,
        i.ended_at IS NOT NULL AS has_ended,
        {ChangeTime.now} AS now
    FROM store.imports i JOIN store.conversations c ON c.slot = i.slot AND c.id = i.conversation_id
    WHERE i.slot = :slot AND i.conversation_id = :conversation
)
