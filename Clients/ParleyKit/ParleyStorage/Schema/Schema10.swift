/// Version 10.
let schema10 = """
    -- Who may add members, rename and write, such as members,members,admins; NULL: every member may do everything that members may by default.
    ALTER TABLE conversations ADD COLUMN permissions TEXT;

    -- An earlier version has passed over what the server told of them: the lists bring it.
    UPDATE account SET is_list_complete = 0, has_requests = 0;
    """
