/// Version 20.
let schema20 = """
    -- How far this device's clock was ahead of the server's when a session began, in milliseconds.
    ALTER TABLE account ADD COLUMN clock_ahead INTEGER NOT NULL DEFAULT 0;
    """
