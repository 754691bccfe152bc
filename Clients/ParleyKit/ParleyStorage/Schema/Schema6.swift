/// Version 6.
let schema6 = """
    -- Whom the user has blocked, or had.
    CREATE TABLE blocks (
        user_id TEXT PRIMARY KEY,
        is_told INTEGER NOT NULL DEFAULT 0,         -- the server says that they are blocked
        is_recent INTEGER NOT NULL DEFAULT 0,       -- the private stream has told it since the list was missed
        version INTEGER NOT NULL DEFAULT 0,         -- a number by chance, another one each time that the server tells of it
        is_blocked INTEGER NOT NULL DEFAULT 0       -- the same with what the user did since: what counts for what is shown
    ) STRICT, WITHOUT ROWID;
    ALTER TABLE account ADD COLUMN has_blocks INTEGER NOT NULL DEFAULT 0;   -- the whole list is known
    ALTER TABLE account ADD COLUMN blocks_useq INTEGER NOT NULL DEFAULT 0;  -- with all private changes up to here

    -- The rule: in groups, what blocked users write and do is not shown. Everything that is shown or counted is read through
    -- this. A conversation of two shows what it had before it ended.
    CREATE VIEW hidden_senders AS
    SELECT c.key AS conversation, b.user_id FROM blocks b, conversations c WHERE b.is_blocked = 1 AND c.kind <> 'direct';
    -- What happened to the group is shown, whoever did it.
    CREATE VIEW shown_messages AS
    SELECT m.* FROM messages m
    WHERE m.kind = 'system' OR NOT EXISTS (
        SELECT 1 FROM hidden_senders h WHERE h.user_id = m.sender_id AND h.conversation = m.conversation);

    -- What is not shown brings nothing back from the archive.
    DROP VIEW archived_conversations;
    CREATE VIEW archived_conversations AS
    SELECT key, muted_until, NOT EXISTS (
        SELECT 1 FROM shown_messages m WHERE m.conversation = c.key AND m.seq > c.archived_seq) AS is_quiet
    FROM conversations c WHERE archived_seq IS NOT NULL;
    """
