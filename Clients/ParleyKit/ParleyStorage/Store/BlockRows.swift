import Models

// Whom the user has blocked. What follows from that for what is shown stands in the views of schema 6.

extension LocalStore {
    /// By name.
    package func blockedUsers() throws(StorageError) -> [UserID] {
        try connection.all("SELECT user_id FROM blocks WHERE is_blocked = 1 ORDER BY user_id") { $0.user(0) }
    }

    package func isBlocked(_ user: UserID) throws(StorageError) -> Bool {
        try connection.first("SELECT 1 FROM blocks WHERE user_id = ?1 AND is_blocked = 1", user) { _ in true } ?? false
    }

    /// Of a conversation, those of some users whose messages and typing are not shown in it.
    package func hidden(_ users: some Sequence<UserID>, in id: ConversationID) throws(StorageError) -> Set<UserID> {
        var hidden: Set<UserID> = []
        for user in users where try isHidden(user, in: id) { hidden.insert(user) }
        return hidden
    }

    /// Those of some conversations of which the copy has messages, and none that is shown: there may be others before.
    package func withoutShownMessages(_ rows: [ConversationRow]) throws(StorageError) -> [ConversationID] {
        var ids: [ConversationID] = []
        for row in rows where row.preview == nil {
            let isHidden = try connection.first(
                "SELECT 1 FROM conversations c JOIN messages m ON m.conversation = c.key WHERE c.id = ?1 LIMIT 1",
                row.id
            ) { _ in true }
            if isHidden ?? false { ids.append(row.id) }
        }
        return ids
    }

    func isHidden(_ user: UserID, in id: ConversationID) throws(StorageError) -> Bool {
        try connection.first(
            """
            SELECT 1 FROM hidden_senders h JOIN conversations c ON c.key = h.conversation WHERE h.user_id = ?1 AND c.id = ?2
            """, user, id
        ) { _ in true } ?? false
    }

    /// A message with the tapbacks that are shown, as far as it names who set them.
    func withShownTapbacks(_ message: Message, _ tapbacks: [(tapback: Tapback, isHidden: Bool)]) -> Message {
        var message = message
        message.tapbacks = tapbacks.filter { !$0.isHidden }.map(\.tapback)
        for hidden in tapbacks where hidden.isHidden {
            message.tapbackCounts = message.tapbackCounts.without(hidden.tapback.kind)
        }
        return message
    }

    /// Up to where the user has read who has read a message: what is not shown and follows it at once is read with it. Else
    /// who is blocked could tell it from receipts that never come.
    package func readSeq(through seq: Int64, in id: ConversationID) throws(StorageError) -> Int64 {
        guard let state = try state(of: id), let range = try range(at: seq, in: state.key) else { return seq }
        let last = try connection.first(
            """
            SELECT max(seq) FROM messages WHERE conversation = ?1 AND seq BETWEEN ?2 + 1 AND ?3 AND seq < coalesce(
                (SELECT min(s.seq) FROM shown_messages s WHERE s.conversation = ?1 AND s.seq > ?2), ?3 + 1)
            """, state.key, seq, range.upperBound
        ) { $0.optional(0, $0.integer) }
        return (last ?? nil) ?? seq
    }

    // MARK: By the server

    /// Takes the whole list.
    ///
    /// - Parameter useq: the position of the private stream at which it was so; nil for a response, which may be older than
    ///   what the stream has told since it was asked for, and says nothing if the list is known.
    func storeBlocks(_ users: [UserID], at useq: Int64?) throws(StorageError) {
        let isKnown = try connection.first("SELECT has_blocks FROM account") { $0.flag(0) } ?? false
        if useq == nil, isKnown { return }
        if useq != nil { try connection.run("UPDATE blocks SET is_recent = 0") }
        try connection.run("UPDATE blocks SET is_told = 0 WHERE is_recent = 0")
        for user in users {
            try connection.run(
                """
                INSERT INTO blocks (user_id, is_told) VALUES (?1, 1)
                ON CONFLICT (user_id) DO UPDATE SET is_told = CASE WHEN is_recent = 1 THEN is_told ELSE 1 END
                """, user)
        }
        try connection.run("UPDATE blocks SET version = random()")
        try connection.run("UPDATE account SET has_blocks = 1, blocks_useq = coalesce(?1, blocks_useq)", useq)
        try showBlocks()
    }

    /// Private changes were missed: what the stream tells from now on is newer than the list that is asked for.
    func outdateBlocks() throws(StorageError) {
        try connection.run("UPDATE account SET has_blocks = 0")
        try connection.run("UPDATE blocks SET is_recent = 0")
    }

    func applyBlock(_ change: PrivateChange) throws(StorageError) {
        guard let user = change.userId, let isBlocked = change.blocked else { return }
        let listUseq = try connection.first("SELECT blocks_useq FROM account") { $0.integer(0) } ?? 0
        // Of an earlier change nothing is shown for a moment: the list has what came of it.
        try connection.run(
            """
            INSERT INTO blocks (user_id, is_told, is_recent, version) VALUES (?1, ?2 AND ?3, 1, random())
            ON CONFLICT (user_id) DO UPDATE SET
                is_told = CASE WHEN ?3 THEN excluded.is_told ELSE is_told END, is_recent = 1, version = excluded.version
            """, user, isBlocked, change.useq > listUseq)
        try showBlocks()
    }

    // MARK: By the user

    /// A block takes the place of an earlier one of the same user that no request was made with, and is in force at once.
    func enqueue(_ user: UserID, _ isBlocked: Bool, at: Timestamp, key: UUIDBytes) throws(StorageError) {
        try connection.run("INSERT OR IGNORE INTO blocks (user_id) VALUES (?1)", user)
        for row in try waitingBlocks() where !row.wasTried && row.write.blockedUser == user {
            try connection.run("DELETE FROM outbox WHERE key = ?1", row.key)
        }
        let version = try connection.first("SELECT version FROM blocks WHERE user_id = ?1", user) { $0.integer(0) }
        let new = PendingWrite.block(user, isBlocked, after: version ?? 0)
        try connection.run(
            "INSERT INTO outbox (kind, write, idempotency_key, at) VALUES (?1, ?2, ?3, ?4)", new.kind,
            String(json: new), key, at)
        try showBlocks()
    }

    /// A block is with the server. Unless that has told of it meanwhile, perhaps of a later one, it is as the user set it.
    func completeBlock(_ user: UserID, _ isBlocked: Bool, after version: Int64) throws(StorageError) {
        try connection.run(
            "UPDATE blocks SET is_told = ?2 WHERE user_id = ?1 AND version = ?3", user, isBlocked, version)
        try showBlocks()
    }

    /// Shows what the server told with what waits in the outbox.
    func showBlocks() throws(StorageError) {
        try connection.run("UPDATE blocks SET is_blocked = is_told WHERE is_blocked <> is_told")
        for row in try waitingBlocks() {
            guard case .block(let user, let isBlocked, _) = row.write else { continue }
            try connection.run(
                """
                INSERT INTO blocks (user_id, is_blocked) VALUES (?1, ?2)
                ON CONFLICT (user_id) DO UPDATE SET is_blocked = excluded.is_blocked
                """, user, isBlocked)
        }
    }

    private func waitingBlocks() throws(StorageError) -> [OutboxRow] {
        try connection.all(
            "SELECT * FROM outbox WHERE kind = 'block' AND state = 0 ORDER BY key", read: Self.outboxRow
        ).compactMap(\.self)
    }
}

extension PendingWrite {
    fileprivate var blockedUser: UserID? {
        if case .block(let user, _, _) = self { user } else { nil }
    }
}
