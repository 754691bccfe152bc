-- The text that a row of store.messages had at a position. A revision is the text that the change at its own position
-- replaced.
--
-- :slot
-- :row
-- :position
CASE WHEN :row.edited_at IS NULL OR :row.changed_seq <= :position THEN :row.body
    ELSE coalesce((
        SELECT v.body FROM store.revisions v
        WHERE v.slot = :slot AND v.conversation_id = :row.conversation_id AND v.message_id = :row.id
          AND v.replaced_seq > :position ORDER BY v.replaced_seq LIMIT 1), :row.body) END
