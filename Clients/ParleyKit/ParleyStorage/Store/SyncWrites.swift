import Models

extension LocalStore {
    /// Applies what synchronisation found out, in one transaction.
    package func apply(_ writes: [SyncWrite]) throws(StorageError) {
        guard !writes.isEmpty else { return }
        try write { () throws(StorageError) in
            var index = writes.startIndex
            while index < writes.endIndex {
                let run = MessageRun(in: writes[index...])
                if run.changes.count > 1, try apply(run) {
                    index += run.changes.count
                } else {
                    try apply(writes[index])
                    index += 1
                }
            }
        }
    }

    private func apply(_ write: SyncWrite) throws(StorageError) {
        switch write {
        case .session(let user, let log, let useq): try beginSession(userId: user, logId: log, useq: useq)
        case .discardAll: try discardAll()
        case .settings(let settings):
            try connection.run(
                "UPDATE account SET read_receipts = ?1, presence = ?2", settings.readReceipts, settings.presence)
        case .blocks(let users, let useq): try storeBlocks(users, at: useq)
        case .requests(let requests): try store(requests)
        case .profiles(let profiles): try storeProfiles(profiles)
        case .listComplete(let isComplete): try connection.run("UPDATE account SET is_list_complete = ?1", isComplete)
        case .syncCursor(let cursor): try connection.run("UPDATE account SET sync_cursor = ?1", cursor)
        case .conversation(let head, let follows):
            try store(head, follows: follows)
            try takeHidden(from: head)
        case .discard(let id): try discard(id)
        case .change(let change, let moves): try apply(change, movesCursor: moves)
        case .passed(let id, let seq): try pass(id, through: seq)
        case .history(let id, let page, let place): try store(page, of: id, place: place)
        case .message(let message): try store(alone: message)
        case .status(let status): try apply(status)
        case .members(let id, let members, let isFirst): try store(members, of: id, isFirstPage: isFirst)
        case .settingsInConversation(let id, let settings): try store(settings, in: id)
        case .revisions(let id, let message, let revisions):
            if let state = try state(of: id) { try store(revisions, of: message, in: state.key) }
        case .outdated(let id, let range): try outdate(id, range)
        case .delivered(let id, let seq):
            try connection.run("UPDATE conversations SET delivered_seq = max(delivered_seq, ?2) WHERE id = ?1", id, seq)
        case .privateChange(let change): try apply(change)
        case .privateStream(let useq): try connection.run("UPDATE account SET useq = ?1", useq)
        }
    }

    /// A message by itself, such as the response to an edit: what is around it stays unknown. A restored server may have it at
    /// another position, which it tells before the session tells of the restoration.
    func store(alone message: Message) throws(StorageError) {
        guard let state = try state(of: message.conversationId) else { return }
        let isAway = try isAway(message, in: state.key)
        if isAway, try self.message(message.id, in: message.conversationId) == nil { return }
        try store(message, in: state.key)
    }

    private func store(_ settings: SettingsInConversation, in id: ConversationID) throws(StorageError) {
        try connection.run(
            "UPDATE conversations SET read_receipts = ?2, inherits_read_receipts = ?3 WHERE id = ?1", id,
            settings.readReceipts, settings.inherited.contains(.known(.readReceipts)))
    }

    private func outdate(_ id: ConversationID?, _ range: ClosedRange<Int64>) throws(StorageError) {
        if let id {
            if let state = try state(of: id) { try outdate(range, in: state.key) }
        } else {
            for key in try connection.all("SELECT key FROM conversations", read: { $0.integer(0) }) {
                try outdate(range, in: key)
            }
            // Settings are loaded again where somebody looks at them.
            try connection.run(
                """
                UPDATE conversations SET
                    unsure_through = ?1, read_receipts = NULL, inherits_read_receipts = NULL, told_marks = 0
                """, Int64.max)
            try outdateBlocks()
            try outdateRequests()
        }
    }
}
