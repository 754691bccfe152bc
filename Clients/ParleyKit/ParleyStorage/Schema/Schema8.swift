/// Version 8.
let schema8 = """
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
    """
