/// Version 19.
let schema19 = """
    -- The preview of a message that was deleted, or has expired, goes from its replies, whichever comes first.
    CREATE INDEX messages_quoting ON messages (conversation, parent_seq) WHERE parent_preview IS NOT NULL;

    CREATE TRIGGER messages_taken_back AFTER UPDATE OF deleted_at ON messages
    WHEN new.deleted_at IS NOT NULL AND old.deleted_at IS NULL BEGIN
        UPDATE messages SET parent_preview = NULL
        WHERE conversation = new.conversation AND parent_seq = new.seq AND parent_preview IS NOT NULL;
    END;
    CREATE TRIGGER messages_came_taken_back AFTER INSERT ON messages WHEN new.deleted_at IS NOT NULL BEGIN
        UPDATE messages SET parent_preview = NULL
        WHERE conversation = new.conversation AND parent_seq = new.seq AND parent_preview IS NOT NULL;
    END;
    CREATE TRIGGER messages_came_quoting AFTER INSERT ON messages
    WHEN new.parent_preview IS NOT NULL AND EXISTS (
        SELECT 1 FROM messages p
        WHERE p.conversation = new.conversation AND p.seq = new.parent_seq AND p.deleted_at IS NOT NULL) BEGIN
        UPDATE messages SET parent_preview = NULL WHERE key = new.key;
    END;
    CREATE TRIGGER messages_quote_again AFTER UPDATE OF parent_preview ON messages
    WHEN new.parent_preview IS NOT NULL AND EXISTS (
        SELECT 1 FROM messages p
        WHERE p.conversation = new.conversation AND p.seq = new.parent_seq AND p.deleted_at IS NOT NULL) BEGIN
        UPDATE messages SET parent_preview = NULL WHERE key = new.key;
    END;

    UPDATE messages SET parent_preview = NULL
    WHERE parent_preview IS NOT NULL AND EXISTS (
        SELECT 1 FROM messages p
        WHERE p.conversation = messages.conversation AND p.seq = messages.parent_seq AND p.deleted_at IS NOT NULL);
    """
