/// Version 16.
let schema16 = """
    -- Of a poll its options and counts, without a vote, as JSON; NULL of all others, and when it was deleted for everyone.
    ALTER TABLE messages ADD COLUMN poll TEXT;
    -- What the user has chosen in it, as JSON; NULL: that is not known, or nothing.
    ALTER TABLE messages ADD COLUMN own_vote TEXT;

    DROP VIEW shown_messages;
    CREATE VIEW shown_messages AS
    SELECT m.* FROM messages m
    WHERE m.is_expired = 0 AND (m.kind = 'system' OR NOT EXISTS (
        SELECT 1 FROM hidden_senders h WHERE h.user_id = m.sender_id AND h.conversation = m.conversation));
    """
