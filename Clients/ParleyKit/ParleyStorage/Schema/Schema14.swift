/// Version 14.
let schema14 = """
    -- What the sender of a sealed message has encrypted, in base64. NULL of all others, and when it was deleted for everyone.
    ALTER TABLE messages ADD COLUMN sealed TEXT;

    DROP VIEW shown_messages;
    CREATE VIEW shown_messages AS
    SELECT m.* FROM messages m
    WHERE m.is_expired = 0 AND (m.kind = 'system' OR NOT EXISTS (
        SELECT 1 FROM hidden_senders h WHERE h.user_id = m.sender_id AND h.conversation = m.conversation));
    """
