/// Version 5.
let schema5 = """
    -- What the user keeps to themselves about a conversation: JSON, as the server told it, and which parts of it the server
    -- has told (bits of `MarkBits`). What was told is newer than what a response says that was asked for before.
    ALTER TABLE conversations ADD COLUMN marks TEXT NOT NULL DEFAULT '{}';
    ALTER TABLE conversations ADD COLUMN told_marks INTEGER NOT NULL DEFAULT 0;
    -- A number by chance, another one each time that the server tells of them.
    ALTER TABLE conversations ADD COLUMN marks_version INTEGER NOT NULL DEFAULT 0;
    -- The same with what the user did since: what is shown, and by which the list is in order.
    ALTER TABLE conversations ADD COLUMN muted_until INTEGER;
    ALTER TABLE conversations ADD COLUMN pin_order INTEGER;
    ALTER TABLE conversations ADD COLUMN archived_seq INTEGER;
    ALTER TABLE conversations ADD COLUMN is_marked_unread INTEGER NOT NULL DEFAULT 0;
    CREATE INDEX conversations_by_place
        ON conversations (coalesce(pin_order, 9007199254740992), last_activity_at DESC, key DESC) WHERE head_seq > 0;

    CREATE INDEX conversations_muted ON conversations (muted_until) WHERE muted_until IS NOT NULL;

    CREATE INDEX conversations_archived ON conversations (key) WHERE archived_seq IS NOT NULL;
    -- What the user has archived, and whether no message has come since: then, or while it is muted, it is in the archive.
    CREATE VIEW archived_conversations AS
    SELECT key, muted_until, NOT EXISTS (
        SELECT 1 FROM messages m WHERE m.conversation = c.key AND m.seq > c.archived_seq) AS is_quiet
    FROM conversations c WHERE archived_seq IS NOT NULL;

    -- An earlier version has passed over what the server told of them: the list brings it.
    UPDATE account SET is_list_complete = 0;
    """
