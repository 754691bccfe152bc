/// Version 11.
let schema11 = """
    -- The application's own JSON.
    ALTER TABLE messages ADD COLUMN extra TEXT;
    -- Where it was pinned, by whom and when; NULL: it is not.
    ALTER TABLE messages ADD COLUMN pinned_seq INTEGER;
    ALTER TABLE messages ADD COLUMN pinned_by TEXT;
    ALTER TABLE messages ADD COLUMN pinned_at INTEGER;
    """
