import Models

/// New messages of one conversation, one right after the other: what a busy group brings, and a client that was away. Their
/// conversation is read and written once for all of them.
struct MessageRun {
    private(set) var changes: [Change] = []

    /// The run that some writes begin with.
    init(in writes: ArraySlice<SyncWrite>) {
        for write in writes {
            guard case .change(let change, movesCursor: true) = write, change.kind == .messageCreated,
                change.message != nil
            else { return }
            if let last = changes.last, last.conversationId != change.conversationId || last.seq + 1 != change.seq {
                return
            }
            changes.append(change)
        }
    }
}

extension LocalStore {
    /// Does the same as applying each of the changes. Returns false where that would do more.
    func apply(_ run: MessageRun) throws(StorageError) -> Bool {
        let (first, last) = (run.changes[0], run.changes[run.changes.count - 1])
        guard let state = try state(of: first.conversationId), let cursor = state.cursor else { return false }
        let own = try userId()
        for case let message? in run.changes.lazy.map(\.message) {
            try store(message, in: state.key)
            if message.senderId == own { try forgetSent(message.id, in: first.conversationId, by: message.senderId) }
        }
        try connection.run(
            "UPDATE conversations SET cursor = ?2 WHERE key = ?1", state.key, max(cursor, last.seq))
        try applyToHead(last, state)
        try cover(first.seq...last.seq, in: state)
        return true
    }
}
