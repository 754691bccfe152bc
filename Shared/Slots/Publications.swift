import Postgres

/// What the two services with a database publish to each other: all that one reads of the other's tables.
public enum Publications {
    /// Of `store` for `receipt`: who is in which conversation and up to which position, whose messages are where and since
    /// when, which conversations are being imported, where what is kept begins, how far users were told that they have read, who wants to be seen
    /// reading or online, and who is erased. No text, no title.
    public static let store = [
        PublishedView("store", "changes", ["slot", "conversation_id", "seq", "kind", "at"]),
        PublishedView(
            "store", "conversation_settings", ["slot", "conversation_id", "user_id", "read_receipts"]),
        PublishedView(
            "store", "conversations", ["slot", "id", "kind", "last_seq", "last_at", "member_count", "kept_from"]),
        PublishedView("store", "erasures", ["user_slot", "user_id"]),
        PublishedView("store", "import_stays", ["slot", "conversation_id", "user_id", "joined_seq", "left_seq"]),
        PublishedView("store", "imports", ["slot", "conversation_id", "ended_at", "is_dropped"]),
        PublishedView("store", "inbox", ["user_slot", "user_id", "conversation_id", "slot", "told_read_seq"]),
        PublishedView(
            "store", "memberships", ["slot", "conversation_id", "user_id", "joined_seq", "left_seq", "left_at"]),
        // The stays as others see them: of those that their users closed, the shadows. `store` reads it as well.
        PublishedView(
            "store", "appearances", ["slot", "conversation_id", "user_id", "joined_seq", "left_seq", "role"],
            of: """
                SELECT slot, conversation_id, user_id, joined_seq, left_seq, role FROM store.memberships WHERE NOT is_shadowed
                UNION ALL
                SELECT slot, conversation_id, user_id, joined_seq, left_seq, role FROM store.shadows
                """),
        PublishedView(
            "store", "messages", ["slot", "conversation_id", "seq", "sender_id", "kind", "id", "created_at"]),
        PublishedView("store", "user_settings", ["user_slot", "user_id", "presence", "read_receipts"]),
    ]

    /// Of `receipt` for `store`, which shows receipts beside messages.
    public static let receipt = [
        PublishedView("receipt", "completions", ["slot", "conversation_id", "kind", "from_seq", "to_seq", "at"]),
        PublishedView(
            "receipt", "horizons", ["slot", "conversation_id", "user_id", "delivered_seq", "read_seq", "shown_seq"]),
        PublishedView("receipt", "positions", ["slot", "conversation_id", "status_version", "last_at"]),
        PublishedView(
            "receipt", "receipt_runs", ["slot", "conversation_id", "user_id", "kind", "from_seq", "to_seq", "at"]),
    ]
}
