/// Version 18.
let schema18 = """
    -- The first position whose message the server keeps.
    ALTER TABLE conversations ADD COLUMN kept_from INTEGER NOT NULL DEFAULT 1;

    -- An earlier version has passed over what the server told of it: the list brings it.
    UPDATE account SET is_list_complete = 0;
    """
