/// What the comparison with PostgreSQL leaves out, and why. Everything else is compared, byte by byte.
enum Exceptions {
    /// Statements that PostgreSQL carries out, too, with other rows than the model's.
    static let ignoredRows: [String: String] = [
        "setting": "no service reads what a setting was set to",
        "bounds": "the clock of the machine is not simulated, so no bounds are ever set",
        "join": "no service reads the void that a lock returns",
        "unlockAll": "as join",
        "lock_keys": "as join",
        "lock_users": "as join",
        "list_conversations": "a client that has cursors does not read the list",
        "recipients": "the model counts no receipts",
        "receipt_counts": "the model counts no receipts",
        "former_end": "the model has no earlier states of receipts",
        "search_backlog": "the model has no index of the search",
        "search_unindexed": "the model has no index of the search",
        "search_unfiltered": "the model has no index of the search",
    ]

    /// Statements that PostgreSQL does not carry out. What the model decides happens to its sessions, too.
    static let leftOut: [String: String] = [
        "endSilent": "a session's age is that of a real clock"
    ]

    /// Statements of which the order of rows is not determined: no ORDER BY.
    static let unordered: Set<String> = [
        "acquire", "bootstrap", "conversation_positions", "erasures_of_slots", "history", "members", "note_unindexed",
        "note_untold", "reader_stays", "revocations_of_slots", "status_positions", "unindexed_complete", "unlock",
        "untold_complete", "user_positions", "whole_messages",
    ]

    /// Statements that the model plays for longer or other runs. Those that are compared may miss them.
    static let notReached: [String: String] = [
        "forget_unindexed": "a note stays until its conversation has rested for a minute",
        "forget_untold": "a note stays until its conversation has rested for a minute",
        "last_seen_of_peers": "no client of these runs has a peer in a direct conversation",
        "lock_conversations": "its clients are few: no batch has two conversations",
        "leave": "only a service that is drained to its end sends it",
        "message": "its clients read pages, not single messages",
        "messages_from": "its clients read pages from the newest message backwards",
    ]

    /// Statements that services prepare and no client of the simulation makes them execute.
    static let notSimulated: [String: String] = [
        "block_user": "its clients block nobody; the generated histories of Tests/System do",
        "decline_request": "nobody has to ask; the generated histories of Tests/System have who does",
        "requests": "nobody has to ask",
        "set_permissions":
            "every member may do everything here; the generated histories of Tests/System restrict groups",
        "lift_ban": "its owners bring back whom they have removed; the generated histories of Tests/System lift bans",
        "bans": "its clients list nobody",
        "next_block": "its clients block nobody, and nobody is erased with blocks",
        "erase_block": "its clients block nobody, and nobody is erased with blocks",
        "create_conversation": "its clients have conversations from the start",
        "rename_conversation": "its clients have conversations from the start",
        "changed_conversations": "a client that has cursors does not synchronize",
        "conversations": "a client that has cursors does not synchronize",
        "sync_position": "a client that has cursors does not synchronize",
        "unread_blocks": "a client that has cursors does not synchronize",
        "latest_visible": "a client that has cursors does not synchronize",
        "members": "its clients list no members",
        "receipts": "its clients ask for no dates of receipts",
        "lone_receipts": "its clients ask for receipts of one conversation at a time",
        "lone_receipts_of_many": "its clients ask for receipts of one conversation at a time",
        "receipt_dates": "its clients ask for no dates of receipts",
        "former_receipt_dates": "its clients ask for no dates of receipts",
        "former_receipts": "its clients ask for no dates of receipts",
        "former_receipt_counts": "its clients ask for no dates of receipts",
        "recent_senders": "its conversations are too small for counts without names",
        "sender_stays": "its conversations are too small for counts without names",
        "completion_messages": "its conversations are too small for counts without names",
        "completion_laggards": "its conversations are too small for counts without names",
        "completion_times": "its conversations are too small for counts without names",
        "completion_insert": "its conversations are too small for counts without names",
        "digest": "its clients compare no digests",
        "search": "its clients do not search",
        "search_one": "its clients do not search",
        "search_add": "the model has no index of the search",
        "search_remove": "the model has no index of the search",
        "search_filter": "the model has no index of the search",
        "put_draft": "its clients send what they write at once; the generated histories of Tests/System keep drafts",
        "put_profile": "nobody has a profile",
        "profiles": "nobody has a profile",
        "profile_audience": "nobody has a profile",
        "announced_erasures": "nobody is erased",
        "begin_erasure": "nobody is erased",
        "erase_content": "nobody is erased",
        "erase_stays": "nobody is erased",
        "erase_listing": "nobody is erased",
        "erase_remains": "nobody is erased",
        "erase_member": "nobody is erased",
        "erase_receipts": "nobody is erased",
        "has_media": "nobody is erased",
        "send_attachments": "its clients send no attachments",
        "may_read_attachment": "its clients send no attachments",
        "carries_attachment": "its clients send no attachments",
        "forget_media_releases": "its clients send no attachments",
        "lock_erasures": "nobody is erased",
        "lock_erased_position": "nobody is erased",
        "erased_users": "nobody is erased",
        "next_listing": "nobody is erased",
        "next_mention": "nobody is erased",
        "revoke_tokens": "nobody's tokens are revoked",
        "revocations": "nobody's tokens are revoked",
        "exported_conversations": "nothing is exported",
        "export_erased_members": "nothing is exported",
        "export_head": "nothing is exported",
        "export_page": "nothing is exported",
        "export_state": "nothing is exported",
        "export_receipts": "nothing is exported",
        "import_conversation": "nothing is imported",
        "import_messages": "nothing is imported",
        "import_receipts": "nothing is imported",
        "insert_import_position": "nothing is imported",
        "import_tapback": "nothing is imported",
        "import_member": "nothing is imported",
        "import_title": "nothing is imported",
        "import_end": "nothing is imported",
        "import_drop": "nothing is imported",
        "drop_receipts": "nothing is imported",
        "lock_imported_streams": "nothing is imported",
        "trim_private": "no private stream gets long enough",
    ]
}
