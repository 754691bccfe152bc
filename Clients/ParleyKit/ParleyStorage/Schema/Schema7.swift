/// Version 7.
let schema7 = """
    -- What people are called and look like, of those who were shown. No other table has any of it.
    CREATE TABLE profiles (
        user_id TEXT PRIMARY KEY,
        version INTEGER NOT NULL,   -- as the server counts the profile's changes
        display_name TEXT,
        avatar_url TEXT,
        extra TEXT                  -- JSON
    ) STRICT, WITHOUT ROWID;
    """
