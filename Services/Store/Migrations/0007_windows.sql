-- owner: store
-- What a former member sees ends where they left: with the texts, tapbacks and title of then.

-- The change that set it; 0: before positions were kept.
ALTER TABLE store.tapbacks ADD COLUMN seq bigint NOT NULL DEFAULT 0;
ALTER TABLE store.tapbacks ALTER COLUMN seq DROP DEFAULT;

-- `changes` has every title by its position, the first one with the creation.
UPDATE store.changes h SET title = c.title
FROM store.conversations c
WHERE h.kind = 8 AND c.slot = h.slot AND c.id = h.conversation_id AND c.title IS NOT NULL AND NOT EXISTS (
    SELECT FROM store.changes r WHERE r.slot = h.slot AND r.conversation_id = h.conversation_id AND r.kind = 9);
CREATE INDEX changes_titles ON store.changes (conversation_id, seq, slot) WHERE kind IN (8, 9);
