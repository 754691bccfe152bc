-- A database as version 8 wrote it, which was brought to it from version 7: its schema, and a little of everything.
-- The user whose copy this is, in one row, and the positions of what concerns the whole copy.
CREATE TABLE account (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    user_id TEXT,
    log_id BLOB,                                -- of the server's database, from its last welcome
    useq INTEGER,                               -- the private stream is applied up to here
    sync_cursor TEXT,                           -- of GET /v1/sync
    is_list_complete INTEGER NOT NULL DEFAULT 0,
    read_receipts INTEGER,                      -- NULL until the settings are known
    presence INTEGER
) STRICT;
INSERT INTO account (only) VALUES (1);

CREATE TABLE conversations (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    needs_head INTEGER NOT NULL DEFAULT 1,      -- the server has to be asked what it is like
    -- What the server says of it, as of head_seq. 0: only the id is known.
    head_seq INTEGER NOT NULL DEFAULT 0,
    kind TEXT NOT NULL DEFAULT '',
    title TEXT,
    created_at INTEGER NOT NULL DEFAULT 0,
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_activity_at INTEGER NOT NULL DEFAULT 0,
    member_count INTEGER NOT NULL DEFAULT 0,
    role TEXT NOT NULL DEFAULT '',
    windows TEXT NOT NULL DEFAULT '',           -- such as 1-17,29-
    -- The user's own. They only grow.
    cleared_seq INTEGER NOT NULL DEFAULT 0,
    read_seq INTEGER NOT NULL DEFAULT 0,
    delivered_seq INTEGER NOT NULL DEFAULT 0,   -- the server knows that the copy reaches here
    -- The server's count of unread messages at its position, for as long as the copy cannot count them itself.
    unread_count INTEGER NOT NULL DEFAULT 0,
    unread_seq INTEGER NOT NULL DEFAULT 0,
    unread_after INTEGER NOT NULL DEFAULT 0,    -- counted after this one
    -- The stream.
    cursor INTEGER,                             -- all changes up to here are applied; NULL: not followed yet
    first_cursor INTEGER NOT NULL DEFAULT 0,    -- older pages of history do not count as up to date
    status_version INTEGER NOT NULL DEFAULT 0,
    -- Settings; NULL until they are known.
    read_receipts INTEGER,
    inherits_read_receipts INTEGER,
    -- The private stream was interrupted: which messages up to here the user has hidden meanwhile is not known, so that a
    -- change does not show what its position reads. A page of history does.
    unsure_through INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX conversations_by_activity ON conversations (last_activity_at DESC, key DESC) WHERE head_seq > 0;
CREATE INDEX conversations_undelivered ON conversations (key) WHERE cursor > delivered_seq;

CREATE TABLE messages (
    key INTEGER PRIMARY KEY,
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    change_seq INTEGER NOT NULL,
    id BLOB NOT NULL,
    sender_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    text TEXT,
    sent_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    edited_at INTEGER,
    deleted_at INTEGER,
    event_kind TEXT,
    event_user TEXT,
    event_title TEXT,
    parent_id BLOB,
    parent_seq INTEGER,
    parent_sender TEXT,                         -- as the server told them, for a parent that is not stored
    parent_preview TEXT,
    tapback_counts TEXT,                        -- as in a digest's line; NULL: none
    mentions TEXT,                              -- the same
    UNIQUE (conversation, seq),
    UNIQUE (conversation, id)
) STRICT;

CREATE TABLE tapbacks (
    message INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    position INTEGER NOT NULL,
    user_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    PRIMARY KEY (message, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE revisions (
    message INTEGER NOT NULL REFERENCES messages ON DELETE CASCADE,
    position INTEGER NOT NULL,
    text TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (message, position)
) STRICT, WITHOUT ROWID;

-- Messages that the user deleted for themselves: changes and old pages may still bring them.
CREATE TABLE hidden (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    message_id BLOB NOT NULL,
    PRIMARY KEY (conversation, message_id)
) STRICT, WITHOUT ROWID;

-- Positions of which every message is stored. The ranges of a conversation neither touch nor overlap.
CREATE TABLE ranges (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    first_seq INTEGER NOT NULL,
    last_seq INTEGER NOT NULL CHECK (last_seq >= first_seq),
    PRIMARY KEY (conversation, first_seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE members (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    role TEXT NOT NULL,
    joined_seq INTEGER NOT NULL,
    PRIMARY KEY (conversation, user_id)
) STRICT, WITHOUT ROWID;

-- How far each other member has received and read.
CREATE TABLE horizons (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    user_id TEXT NOT NULL,
    delivered_seq INTEGER NOT NULL DEFAULT 0,
    read_seq INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (conversation, user_id)
) STRICT, WITHOUT ROWID;

-- What the server said of the receipts of one of the user's own messages.
CREATE TABLE receipts (
    conversation INTEGER NOT NULL REFERENCES conversations ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    status TEXT,
    delivered_count INTEGER NOT NULL DEFAULT 0,
    read_count INTEGER NOT NULL DEFAULT 0,
    recipient_count INTEGER,
    delivered_at INTEGER,
    read_at INTEGER,
    PRIMARY KEY (conversation, seq)
) STRICT, WITHOUT ROWID;

-- These two outlive the copy: they name conversations by their ids.
CREATE TABLE drafts (
    conversation_id BLOB PRIMARY KEY,
    text TEXT NOT NULL,
    parent_id BLOB,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE outbox (
    key INTEGER PRIMARY KEY AUTOINCREMENT,      -- the order of writing
    conversation_id BLOB,                       -- NULL: the user's own settings
    message_id BLOB,
    kind TEXT NOT NULL,
    write TEXT NOT NULL,                        -- JSON
    idempotency_key BLOB NOT NULL,
    state INTEGER NOT NULL DEFAULT 0,           -- 0 waiting, 1 failed, 2 refused
    was_tried INTEGER NOT NULL DEFAULT 0,       -- the server may know it
    problem TEXT,                               -- JSON: why it was refused
    at INTEGER NOT NULL
) STRICT;
CREATE INDEX outbox_by_conversation ON outbox (conversation_id, key);
CREATE INDEX outbox_by_message ON outbox (message_id) WHERE message_id IS NOT NULL;

CREATE VIRTUAL TABLE message_words USING fts5 (
    text, content = 'messages', content_rowid = 'key', tokenize = 'unicode61 remove_diacritics 2', prefix = '2 3'
);
CREATE TRIGGER messages_inserted AFTER INSERT ON messages WHEN new.text IS NOT NULL BEGIN
    INSERT INTO message_words (rowid, text) VALUES (new.key, new.text);
END;
CREATE TRIGGER messages_deleted AFTER DELETE ON messages WHEN old.text IS NOT NULL BEGIN
    INSERT INTO message_words (message_words, rowid, text) VALUES ('delete', old.key, old.text);
END;
CREATE TRIGGER messages_text_changed AFTER UPDATE OF text ON messages WHEN old.text IS NOT new.text BEGIN
    INSERT INTO message_words (message_words, rowid, text)
    SELECT 'delete', old.key, old.text WHERE old.text IS NOT NULL;
    INSERT INTO message_words (rowid, text) SELECT new.key, new.text WHERE new.text IS NOT NULL;
END;

UPDATE account SET user_id = 'anna', log_id = x'00000000000000090000000000000009', useq = 4, sync_cursor = 'c',
    is_list_complete = 1, read_receipts = 0, presence = 1;
INSERT INTO conversations (
    key, id, needs_head, head_seq, kind, title, created_at, last_seq, last_activity_at, member_count, role, windows,
    cursor, status_version)
VALUES (
    1, x'00000000000000010000000000000001', 0, 2, 'group', 'Sunday', 1000, 2, 1002, 2, 'owner', '1-', 2, 3);
INSERT INTO messages (
    key, conversation, seq, change_seq, id, sender_id, kind, text, sent_at, created_at, edited_at, tapback_counts, mentions)
VALUES
    (1, 1, 1, 1, x'00000000000000020000000000000001', 'ben', 'text', 'text 1', 1, 1001, NULL, '🧗:1', 'anna,ben'),
    (2, 1, 2, 2, x'00000000000000020000000000000002', 'anna', 'text', 'edited', 2, 1002, 1003, NULL, NULL);
-- The change that brought the tapback brought the text as well.
UPDATE messages SET text = 'text 1' WHERE key = 1;
INSERT INTO tapbacks VALUES (1, 0, 'ben', '🧗');
INSERT INTO revisions VALUES (2, 0, 'text 2', 1002), (2, 1, 'edited', 1003);
INSERT INTO hidden VALUES (1, x'00000000000000020000000000000009');
INSERT INTO ranges VALUES (1, 1, 2);
INSERT INTO members VALUES (1, 'anna', 'owner', 1), (1, 'ben', 'member', 1);
INSERT INTO horizons VALUES (1, 'ben', 2, 1);
INSERT INTO receipts VALUES (1, 2, 'delivered', 1, 0, 1, 1004, NULL);
INSERT INTO drafts VALUES (x'00000000000000010000000000000001', 'Not yet', NULL, 1005);
INSERT INTO outbox (conversation_id, message_id, kind, write, idempotency_key, at)
VALUES (
    x'00000000000000010000000000000001', x'00000000000000020000000000000003', 'send',
    '{"send":{"mentions":[],"sentAt":"1970-01-01T00:00:00.007Z","text":"Yes!"}}',
    x'00000000000000030000000000000001', 1006);

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
UPDATE conversations SET marks = '{"pinOrder":3}', told_marks = 2, pin_order = 3 WHERE key = 1;
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
-- What people are called and look like, of those who were shown. No other table has any of it.
CREATE TABLE profiles (
    user_id TEXT PRIMARY KEY,
    version INTEGER NOT NULL,   -- as the server counts the profile's changes
    display_name TEXT,
    avatar_url TEXT,
    extra TEXT                  -- JSON
) STRICT, WITHOUT ROWID;
UPDATE account SET is_list_complete = 1;
UPDATE drafts SET parent_id = (SELECT id FROM messages WHERE seq = 2);
-- What is being written on another device, or was put by this one: JSON, as the server told it.
ALTER TABLE conversations ADD COLUMN draft TEXT;
CREATE INDEX conversations_drafted ON conversations (id) WHERE draft IS NOT NULL;

-- What was written here is put like anything else that the user did.
INSERT INTO outbox (conversation_id, kind, write, idempotency_key, at)
SELECT conversation_id, 'draft', json_object('draft', json_object(
        '_0', json_patch(json_object('text', text), json_object('replyTo', CASE WHEN parent_id IS NOT NULL THEN
            lower(substr(hex(parent_id), 1, 8) || '-' || substr(hex(parent_id), 9, 4) || '-'
                || substr(hex(parent_id), 13, 4) || '-' || substr(hex(parent_id), 17, 4) || '-'
                || substr(hex(parent_id), 21)) END)),
        'isTold', json('false'))), randomblob(16), at
FROM drafts;
DROP TABLE drafts;

-- An earlier version has passed over what the server told of them: the list brings it.
UPDATE account SET is_list_complete = 0;
UPDATE account SET is_list_complete = 1;
-- Since when the user has been asked about it, and by whom: a request, as the server told it. It is not followed: what the
-- copy has of it is of the time when it was read.
ALTER TABLE conversations ADD COLUMN requested_at INTEGER;
ALTER TABLE conversations ADD COLUMN requested_by TEXT;
CREATE INDEX conversations_requested ON conversations (key) WHERE requested_at IS NOT NULL;
-- Whether the list of requests is known, with all that the private stream has told.
ALTER TABLE account ADD COLUMN has_requests INTEGER NOT NULL DEFAULT 0;

-- The requests with what the user did since and the server does not know yet: whoever writes or reacts accepts. What waits
-- behind a message that failed is not sent.
CREATE VIEW answered_requests AS
SELECT c.key, c.id, c.requested_at, c.requested_by, (
    SELECT o.kind FROM outbox o
    WHERE o.conversation_id = c.id AND o.kind IN ('accept', 'decline', 'send', 'tapback') AND o.state = 0
        AND NOT (o.kind = 'send' AND EXISTS (
            SELECT 1 FROM outbox f WHERE f.conversation_id = c.id AND f.state = 1 AND f.key < o.key))
    ORDER BY o.key DESC LIMIT 1) AS answer
FROM conversations c WHERE c.requested_at IS NOT NULL;
-- The rule: until they are accepted they are in no list, no count and no search.
CREATE VIEW unlisted_conversations AS
SELECT key, id FROM answered_requests WHERE coalesce(answer, 'decline') = 'decline';
UPDATE account SET has_requests = 1;
PRAGMA user_version = 9;
