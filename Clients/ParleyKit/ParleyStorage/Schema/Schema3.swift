/// Version 3.
let schema3 = """
    -- Of two triggers the one that takes the old words away came last: a text that was stored again was not found any more.
    DROP TRIGGER messages_text_removed;
    DROP TRIGGER messages_text_set;
    CREATE TRIGGER messages_text_changed AFTER UPDATE OF text ON messages WHEN old.text IS NOT new.text BEGIN
        INSERT INTO message_words (message_words, rowid, text)
        SELECT 'delete', old.key, old.text WHERE old.text IS NOT NULL;
        INSERT INTO message_words (rowid, text) SELECT new.key, new.text WHERE new.text IS NOT NULL;
    END;
    INSERT INTO message_words (message_words) VALUES ('rebuild');
    """
