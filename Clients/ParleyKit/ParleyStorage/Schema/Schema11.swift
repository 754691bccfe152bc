/// Version 11.
let schema11 = """
    -- The application's own JSON.
    ALTER TABLE messages ADD COLUMN extra TEXT;
    """
