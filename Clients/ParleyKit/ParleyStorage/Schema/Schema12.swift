/// Version 12.
let schema12 = """
    -- How long messages stay that were sent behind a position, in seconds; NULL: until somebody deletes them.
    ALTER TABLE conversations ADD COLUMN lifetime INTEGER;
    ALTER TABLE conversations ADD COLUMN lifetime_seq INTEGER;
    -- What was over up to here is taken out of this copy.
    ALTER TABLE conversations ADD COLUMN expired_seq INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX conversations_lifetime ON conversations (key) WHERE lifetime IS NOT NULL;
    -- Its time was over: 1, as the server says; 2, as this device has found. Then it is not shown, not even as deleted.
    ALTER TABLE messages ADD COLUMN is_expired INTEGER NOT NULL DEFAULT 0;

    DROP VIEW shown_messages;
    CREATE VIEW shown_messages AS
    SELECT m.* FROM messages m
    WHERE m.is_expired = 0 AND (m.kind = 'system' OR NOT EXISTS (
        SELECT 1 FROM hidden_senders h WHERE h.user_id = m.sender_id AND h.conversation = m.conversation));

    -- An earlier version has passed over what the server told of them: the list brings it.
    UPDATE account SET is_list_complete = 0;
    """
