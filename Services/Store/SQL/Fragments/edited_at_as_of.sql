-- When the message in row `m` had been edited last at a position. Of a message that was deleted behind the position nobody
-- knows any more which edit came before it.
--
-- :slot
-- :position
CASE WHEN m.edited_at IS NULL OR m.changed_seq <= :position THEN m.edited_at
    WHEN m.deleted_at IS NOT NULL THEN NULL
    WHEN NOT EXISTS (
        SELECT FROM store.revisions v
        WHERE v.slot = :slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id
          AND v.replaced_seq > :position ORDER BY v.replaced_seq LIMIT 1) THEN m.edited_at
    WHEN EXISTS (
        SELECT FROM store.revisions v
        WHERE v.slot = :slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id
          AND v.replaced_seq <= :position)
        THEN (
            SELECT v.at FROM store.revisions v
            WHERE v.slot = :slot AND v.conversation_id = m.conversation_id AND v.message_id = m.id
              AND v.replaced_seq > :position ORDER BY v.replaced_seq LIMIT 1) END
