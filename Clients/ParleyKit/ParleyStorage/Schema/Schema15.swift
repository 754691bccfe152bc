/// Version 15.
let schema15 = """
    -- From when on the seconds of a lifetime count, by the name that the server gave it; NULL: from when a message was sent.
    ALTER TABLE conversations ADD COLUMN lifetime_from TEXT;

    -- An earlier version has passed over what the server told of it: the list brings it.
    UPDATE account SET is_list_complete = 0;
    """
