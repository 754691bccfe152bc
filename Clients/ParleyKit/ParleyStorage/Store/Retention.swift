import Models

extension LocalStore {
    /// Takes messages out of the copy that the server keeps no longer.
    ///
    /// - Parameter keptFrom: the first position whose message is kept.
    func trim(_ key: Int64, keptFrom: Int64) throws(StorageError) {
        try uncount(key, before: keptFrom)
        try connection.run("UPDATE conversations SET kept_from = max(kept_from, ?2) WHERE key = ?1", key, keptFrom)
        try connection.run("DELETE FROM messages WHERE conversation = ?1 AND seq < ?2", key, keptFrom)
        try connection.run(
            """
            UPDATE messages SET parent_sender = NULL, parent_preview = NULL
            WHERE conversation = ?1 AND parent_seq < ?2 AND parent_sender IS NOT NULL
            """, key, keptFrom)
    }

    /// The server's count of what is unread loses those of them that are stored. Of others it is asked again.
    private func uncount(_ key: Int64, before keptFrom: Int64) throws(StorageError) {
        let gone = try connection.first(
            """
            SELECT count(*), coalesce(sum(m.mentions_user), 0) FROM conversations c JOIN messages m ON m.conversation = c.key
            WHERE c.key = ?1 AND m.seq < ?2 AND m.seq > c.unread_after AND m.seq <= c.unread_seq
                AND m.kind IN ('text', 'reply', 'sealed', 'poll')
                AND m.sender_id <> (SELECT coalesce(user_id, '') FROM account)
                AND (m.deleted_at IS NULL OR m.change_seq > c.unread_seq OR m.is_expired = 2)
            """, key, keptFrom
        ) { (messages: $0.integer(0), mentions: $0.integer(1)) }
        try connection.run(
            """
            UPDATE conversations SET
                needs_head = needs_head OR unread_count > 0 AND unread_after + 1 < ?2,
                unread_count = max(0, unread_count - ?3), unread_mentions = max(0, unread_mentions - ?4)
            WHERE key = ?1
            """, key, keptFrom, gone?.messages ?? 0, gone?.mentions ?? 0)
    }
}
