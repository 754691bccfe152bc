import Models

/// Where synchronisation stands, for a process that begins.
package struct SyncPosition: Hashable, Sendable {
    package struct Stream: Hashable, Sendable {
        /// All changes up to here are applied.
        package var cursor: Int64
        package var statusVersion: Int64
        /// The server knows that this copy reaches here.
        package var deliveredSeq: Int64

        package init(cursor: Int64, statusVersion: Int64 = 0, deliveredSeq: Int64 = 0) {
            self.cursor = cursor
            self.statusVersion = statusVersion
            self.deliveredSeq = deliveredSeq
        }
    }

    package var userId: UserID?
    package var logId: UUIDBytes?
    package var useq: Int64?
    package var syncCursor: String?
    package var isListComplete: Bool
    /// Of the conversations that are followed, latest activity first.
    package var streams: [(id: ConversationID, stream: Stream)]
    /// Conversations that the server has to be asked about.
    package var unknown: [ConversationID]

    package init() {
        isListComplete = false
        streams = []
        unknown = []
    }

    package static func == (left: Self, right: Self) -> Bool {
        left.userId == right.userId && left.logId == right.logId && left.useq == right.useq
            && left.syncCursor == right.syncCursor && left.isListComplete == right.isListComplete
            && left.unknown == right.unknown && left.streams.elementsEqual(right.streams, by: ==)
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(logId)
        hasher.combine(useq)
    }
}

extension LocalStore {
    package func syncPosition() throws(StorageError) -> SyncPosition {
        var position = SyncPosition()
        let streams = try connection.all(
            """
            SELECT id, cursor, status_version, delivered_seq FROM conversations
            WHERE cursor IS NOT NULL ORDER BY last_activity_at DESC
            """
        ) { row in
            (
                id: ConversationID(row.uuid(0)),
                stream: SyncPosition.Stream(
                    cursor: row.integer(1), statusVersion: row.integer(2), deliveredSeq: row.integer(3))
            )
        }
        position.streams = streams
        position.unknown = try connection.all("SELECT id FROM conversations WHERE needs_head = 1") {
            ConversationID($0.uuid(0))
        }
        try connection.first("SELECT user_id, log_id, useq, sync_cursor, is_list_complete FROM account") { row in
            position.userId = row.optional(0, row.user)
            position.logId = row.optional(1, row.uuid)
            position.useq = row.optional(2, row.integer)
            position.syncCursor = row.optional(3, row.text)
            position.isListComplete = row.flag(4)
        }
        return position
    }

    func beginSession(userId: UserID, logId: UUIDBytes, useq: Int64) throws(StorageError) {
        // Requests that were read before the first session may be of a database that was restored since: nothing tells of it.
        if try connection.first("SELECT 1 FROM account WHERE log_id IS NULL", read: { _ in true }) ?? false {
            try connection.run("DELETE FROM conversations WHERE requested_at IS NOT NULL")
            try outdateRequests()
        }
        try connection.run(
            "UPDATE account SET user_id = ?1, log_id = ?2, useq = coalesce(useq, ?3)", userId, logId, useq)
        try boundProfiles()
    }

    /// Takes the copy away, except the outbox, drafts among it: the server was restored. What waits there to be read or cleared is
    /// a position of a history that is gone: in another one it could stand for messages that the user never saw. A draft that
    /// was put, and that nothing will tell of any more, is put again.
    func discardAll() throws(StorageError) {
        try connection.run("DELETE FROM conversations")
        try connection.run("DELETE FROM profiles")
        try connection.run("DELETE FROM outbox WHERE kind IN ('read', 'clear') AND state = 0")
        try putDraftsAgain()
        try connection.run(
            """
            UPDATE account SET log_id = NULL, useq = NULL, sync_cursor = NULL, is_list_complete = 0, has_requests = 0
            """)
    }

    /// The user whose copy it is; nil before the first session.
    package func userId() throws(StorageError) -> UserID? {
        try connection.first("SELECT user_id FROM account") { $0.optional(0, $0.user) } ?? nil
    }

    /// The settings in force, with what waits in the outbox; nil until the server has told them.
    package func settings() throws(StorageError) -> Settings? {
        let stored = try connection.first("SELECT read_receipts, presence FROM account") { row -> Settings? in
            guard !row.isNull(0), !row.isNull(1) else { return nil }
            return Settings(readReceipts: row.flag(0), presence: row.flag(1))
        }
        guard var settings = stored ?? nil else { return nil }
        for row in try outbox() where row.state == .waiting {
            guard case .settings(let new) = row.write else { continue }
            if let choice = new.readReceipts { settings.readReceipts = choice != .off }
            if let choice = new.presence { settings.presence = choice != .off }
        }
        return settings
    }

    /// The user's settings in a conversation, with what waits in the outbox; nil until the server has told them.
    package func settings(in id: ConversationID) throws(StorageError) -> SettingsInConversation? {
        let stored = try connection.first(
            "SELECT read_receipts, inherits_read_receipts FROM conversations WHERE id = ?1", id
        ) { row -> SettingsInConversation? in
            guard !row.isNull(0), !row.isNull(1) else { return nil }
            return SettingsInConversation(readReceipts: row.flag(0), inherited: row.flag(1) ? [.readReceipts] : [])
        }
        guard var settings = stored ?? nil else { return nil }
        for row in try outbox(of: id) where row.state == .waiting {
            guard case .settingsInConversation(let new) = row.write, let choice = new.readReceipts else { continue }
            settings.inherited = choice == .byDefault ? [.known(.readReceipts)] : []
            settings.readReceipts =
                choice == .byDefault ? try self.settings()?.readReceipts ?? settings.readReceipts : choice == .on
        }
        return settings
    }

    /// Up to where the user has read; nil if the conversation is unknown.
    package func readSeq(in id: ConversationID) throws(StorageError) -> Int64? {
        try connection.first("SELECT read_seq FROM conversations WHERE id = ?1", id) { $0.integer(0) }
    }
}
