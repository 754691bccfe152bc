/// Version 13.
let schema13 = """
    -- The server's count of those among its unread messages that mention the user.
    ALTER TABLE conversations ADD COLUMN unread_mentions INTEGER NOT NULL DEFAULT 0;
    -- Whether it mentions everybody.
    ALTER TABLE messages ADD COLUMN mentions_all INTEGER NOT NULL DEFAULT 0;
    -- Whether it mentions the user, by name or with everybody; of a tombstone, whether it did.
    ALTER TABLE messages ADD COLUMN mentions_user INTEGER NOT NULL DEFAULT 0;
    UPDATE messages SET mentions_user = 1
    WHERE mentions IS NOT NULL AND sender_id <> (SELECT coalesce(user_id, '') FROM account)
        AND instr(',' || mentions || ',', ',' || (SELECT coalesce(user_id, '') FROM account) || ',') > 0;
    CREATE INDEX messages_mentioning_user ON messages (conversation, seq) WHERE mentions_user = 1;

    DROP VIEW shown_messages;
    CREATE VIEW shown_messages AS
    SELECT m.* FROM messages m
    WHERE m.is_expired = 0 AND (m.kind = 'system' OR NOT EXISTS (
        SELECT 1 FROM hidden_senders h WHERE h.user_id = m.sender_id AND h.conversation = m.conversation));

    -- An earlier version has passed over what the server told of them: the list brings it.
    UPDATE account SET is_list_complete = 0;
    """
