/// Version 17.
let schema17 = """
    -- Who wrote a forwarded message, and when by their clock. NULL of all others, and where nobody is to be named.
    ALTER TABLE messages ADD COLUMN forwarded_by TEXT;
    ALTER TABLE messages ADD COLUMN forwarded_at INTEGER;

    DROP VIEW shown_messages;
    CREATE VIEW shown_messages AS
    SELECT m.* FROM messages m
    WHERE m.is_expired = 0 AND (m.kind = 'system' OR NOT EXISTS (
        SELECT 1 FROM hidden_senders h WHERE h.user_id = m.sender_id AND h.conversation = m.conversation));
    """
