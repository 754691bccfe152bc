/// Version 4.
let schema4 = """
    -- What a message says of its files: a JSON array as the contract has it, and their names, which a search finds.
    -- NULL: none.
    ALTER TABLE messages ADD COLUMN attachments TEXT;
    ALTER TABLE messages ADD COLUMN file_names TEXT;

    DROP TRIGGER messages_inserted;
    DROP TRIGGER messages_deleted;
    DROP TRIGGER messages_text_changed;
    DROP TABLE message_words;
    CREATE VIRTUAL TABLE message_words USING fts5 (
        text, file_names, content = 'messages', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2',
        prefix = '2 3'
    );
    CREATE TRIGGER messages_inserted AFTER INSERT ON messages
    WHEN coalesce(new.text, new.file_names) IS NOT NULL BEGIN
        INSERT INTO message_words (rowid, text, file_names) VALUES (new.key, new.text, new.file_names);
    END;
    CREATE TRIGGER messages_deleted AFTER DELETE ON messages
    WHEN coalesce(old.text, old.file_names) IS NOT NULL BEGIN
        INSERT INTO message_words (message_words, rowid, text, file_names)
        VALUES ('delete', old.key, old.text, old.file_names);
    END;
    CREATE TRIGGER messages_words_changed AFTER UPDATE OF text, file_names ON messages
    WHEN old.text IS NOT new.text OR old.file_names IS NOT new.file_names BEGIN
        INSERT INTO message_words (message_words, rowid, text, file_names)
        SELECT 'delete', old.key, old.text, old.file_names WHERE coalesce(old.text, old.file_names) IS NOT NULL;
        INSERT INTO message_words (rowid, text, file_names)
        SELECT new.key, new.text, new.file_names WHERE coalesce(new.text, new.file_names) IS NOT NULL;
    END;
    INSERT INTO message_words (message_words) VALUES ('rebuild');

    -- A message with neither text nor tombstone has files, which an earlier version has not kept: it is loaded again when
    -- somebody looks.
    DELETE FROM ranges WHERE conversation IN (
        SELECT conversation FROM messages WHERE text IS NULL AND deleted_at IS NULL AND kind IN ('text', 'reply'));

    -- How many files a message that waits has.
    ALTER TABLE outbox ADD COLUMN files INTEGER NOT NULL DEFAULT 0;
    -- Behind these others may have to wait.
    CREATE INDEX outbox_holding_back ON outbox (conversation_id, key) WHERE state = 1 OR files > 0;
    -- These files, each a copy in the folder beside the database. Without its row of the outbox, one is to be removed, here
    -- and from the server.
    CREATE TABLE uploads (
        key INTEGER PRIMARY KEY AUTOINCREMENT,
        outbox_key INTEGER REFERENCES outbox ON DELETE SET NULL,
        position INTEGER NOT NULL,
        file TEXT NOT NULL,                         -- its name in the folder
        attachment TEXT NOT NULL,                   -- JSON: what is known of it, from the server when it is ready
        size INTEGER NOT NULL,                      -- of the copy
        media_id BLOB,                              -- NULL: the server has nothing of it
        sent_bytes INTEGER NOT NULL DEFAULT 0,      -- acknowledged by the server
        is_ready INTEGER NOT NULL DEFAULT 0,        -- a message may carry it
        was_checked INTEGER NOT NULL DEFAULT 0      -- after the message was refused, the server was asked again
    ) STRICT;
    CREATE INDEX uploads_by_row ON uploads (outbox_key, position);

    -- Contents and thumbnails that were loaded, or sent, in the same folder. Without a message that carries it, a file is to
    -- be removed.
    CREATE TABLE files (
        media_id BLOB NOT NULL,
        part TEXT NOT NULL,                         -- content, small, large
        message INTEGER REFERENCES messages ON DELETE SET NULL,
        file TEXT NOT NULL,                         -- its name in the folder
        bytes INTEGER NOT NULL,                     -- of the whole file
        is_complete INTEGER NOT NULL DEFAULT 0,
        used_at INTEGER NOT NULL,
        PRIMARY KEY (media_id, part)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX files_by_message ON files (message);
    CREATE INDEX files_by_use ON files (used_at);
    CREATE TRIGGER messages_attachments_removed AFTER UPDATE OF attachments ON messages
    WHEN old.attachments IS NOT NULL AND new.attachments IS NULL BEGIN
        UPDATE files SET message = NULL WHERE message = new.key;
    END;

    -- What the server says of its limits; NULL until it is known.
    ALTER TABLE account ADD COLUMN media_bytes INTEGER;
    ALTER TABLE account ADD COLUMN replies_to_attachments INTEGER;
    """
