import Models

extension LocalStore {
    /// Whether messages of any conversation disappear by themselves at a time that this device knows.
    package func hasLifetimes() throws(StorageError) -> Bool {
        try connection.first(
            "SELECT 1 FROM conversations WHERE lifetime IS NOT NULL AND lifetime_from IS NULL LIMIT 1"
        ) { _ in true } ?? false
    }

    /// Notes what the server's clock says. Messages disappear by that: a device whose clock is a few minutes ahead would take
    /// those that stay for a minute away before anybody has seen them.
    package func note(serverTime: Timestamp, at deviceTime: Timestamp) throws(StorageError) {
        try connection.run(
            "UPDATE account SET clock_ahead = ?1", deviceTime.milliseconds - serverTime.milliseconds)
    }

    /// Takes messages out of the copy whose time is over, so that they are gone on a device without a connection, too. The server
    /// tells of it besides; until then what it says of such a message is as new as this. From reading on only the server knows: who
    /// has read is told to the sender, and to nobody else.
    ///
    /// - Returns: whether there were any.
    package func expireMessages(at deviceTime: Timestamp) throws(StorageError) -> Bool {
        try connection.write { () throws(StorageError) in
            let ahead = try connection.first("SELECT clock_ahead FROM account") { $0.integer(0) } ?? 0
            let now = Timestamp(milliseconds: deviceTime.milliseconds - ahead)
            let ranges = try connection.all(
                """
                SELECT key, max(lifetime_seq, expired_seq), lifetime FROM conversations
                WHERE lifetime IS NOT NULL AND lifetime_from IS NULL
                """
            ) { (key: $0.integer(0), after: $0.integer(1), seconds: $0.integer(2)) }
            var hasExpired = false
            for range in ranges {
                let last = try connection.first(
                    "SELECT max(seq) FROM messages WHERE conversation = ?1 AND seq > ?2 AND created_at <= ?3",
                    range.key, range.after, Timestamp(milliseconds: now.milliseconds - range.seconds * 1000)
                ) { $0.optional(0, $0.integer) }
                guard let last = last ?? nil else { continue }
                try expire(in: range.key, after: range.after, through: last, at: now)
                hasExpired = true
            }
            return hasExpired
        }
    }

    private func expire(
        in conversation: Int64, after first: Int64, through last: Int64, at now: Timestamp
    ) throws(StorageError) {
        try connection.run(
            """
            DELETE FROM revisions WHERE message IN (
                SELECT key FROM messages WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND deleted_at IS NULL)
            """, conversation, first, last)
        try connection.run(
            """
            DELETE FROM tapbacks WHERE message IN (
                SELECT key FROM messages WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND deleted_at IS NULL)
            """, conversation, first, last)
        try connection.run(
            """
            UPDATE messages SET
                text = NULL, deleted_at = ?4, is_expired = 2, change_seq = change_seq - 1, parent_sender = NULL,
                parent_preview = NULL, tapback_counts = NULL, mentions = NULL, mentions_all = 0, attachments = NULL, file_names = NULL,
                extra = NULL, sealed = NULL, poll = NULL, own_vote = NULL, pinned_seq = NULL, pinned_by = NULL, pinned_at = NULL,
                forwarded_by = NULL, forwarded_at = NULL
            WHERE conversation = ?1 AND seq > ?2 AND seq <= ?3 AND kind <> 'system' AND deleted_at IS NULL
            """, conversation, first, last, now)
        try connection.run("UPDATE conversations SET expired_seq = ?2 WHERE key = ?1", conversation, last)
    }
}

extension MessageLifetime {
    /// Nil: from sending on.
    var storedStart: String? { isFromSending ? nil : from?.name }
}
