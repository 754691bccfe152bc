/// Version 9.
let schema9 = """
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
    """
