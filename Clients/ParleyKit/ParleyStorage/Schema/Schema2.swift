/// Version 2.
let schema2 = """
    -- The private stream was interrupted: which messages up to here the user has hidden meanwhile is not known, so that a
    -- change does not show what its position reads. A page of history does.
    ALTER TABLE conversations ADD COLUMN unsure_through INTEGER NOT NULL DEFAULT 0;
    UPDATE conversations SET unsure_through = 9223372036854775807
    WHERE (SELECT is_list_complete = 0 FROM account);
    """
