import Models

extension LocalStore {
    /// Applies a change of a conversation. Applying it again changes nothing.
    func apply(_ change: Change, movesCursor: Bool) throws(StorageError) {
        let state = try stateOrNew(change.conversationId)
        if let message = change.message {
            let isAway = message.seq < change.seq ? try isAway(message, in: state.key) : false
            if !isAway { try store(message, in: state.key) }
        }
        if change.kind == .historyTrimmed, let keptFrom = change.keptFrom { try trim(state.key, keptFrom: keptFrom) }
        try applyToHead(change, state)
        if movesCursor { try move(state, to: change.seq) }
        // Members and titles are shown by messages of the system, which the change does not carry: these positions stay
        // uncovered until somebody looks at them.
        if !change.isShownWithoutMessage { try cover(change.seq...change.seq, in: state) }
        if change.kind == .messageCreated, let message = change.message {
            try forgetSent(message.id, in: change.conversationId, by: message.senderId)
        }
    }

    /// Whether the user has deleted a message for themselves: where every message is stored, it is missing.
    func isAway(_ message: Message, in conversation: Int64) throws(StorageError) -> Bool {
        guard try range(at: message.seq, in: conversation) != nil else { return false }
        return try connection.first(
            "SELECT 1 FROM messages WHERE conversation = ?1 AND seq = ?2", conversation, message.seq,
            read: { _ in true }) == nil
    }

    private func move(_ state: ConversationState, to seq: Int64) throws(StorageError) {
        if state.cursor == nil {
            try follow(state.key, from: seq)
        } else {
            try connection.run("UPDATE conversations SET cursor = max(cursor, ?2) WHERE key = ?1", state.key, seq)
        }
    }

    func pass(_ id: ConversationID, through seq: Int64) throws(StorageError) {
        guard let state = try state(of: id), state.cursor != nil else { return }
        try move(state, to: seq)
    }

    // MARK: What a change says of the conversation

    func applyToHead(_ change: Change, _ state: ConversationState) throws(StorageError) {
        // The server has told more already, or nothing yet: then it is asked.
        guard state.headSeq > 0, change.seq > state.headSeq else { return }
        try connection.run(
            """
            UPDATE conversations SET
                head_seq = ?2, last_seq = max(last_seq, ?2), last_activity_at = coalesce(?3, last_activity_at)
            WHERE key = ?1
            """, state.key, change.seq, change.isActivity ? change.at : nil)
        switch change.kind {
        case .known(.conversationRenamed):
            try connection.run("UPDATE conversations SET title = ?2 WHERE key = ?1", state.key, change.title)
        case .known(.memberAdded): try addMember(change, state.key)
        case .known(.memberRemoved): try removeMember(change, state.key)
        case .known(.memberChanged): try changeMember(change, state.key)
        case .known(.permissionsChanged):
            if let permissions = change.permissions { try setPermissions(permissions.restricting, of: state.key) }
        case .known(.lifetimeChanged): try setLifetime(change.messageLifetime, of: state.key)
        default: break
        }
    }

    private func addMember(_ change: Change, _ key: Int64) throws(StorageError) {
        guard let user = change.userId, let role = change.role else { return }
        try connection.run("UPDATE conversations SET member_count = member_count + 1 WHERE key = ?1", key)
        try connection.run(
            "INSERT OR REPLACE INTO members (conversation, user_id, role, joined_seq) VALUES (?1, ?2, ?3, ?4)",
            key, user, role, change.seq)
        guard try isOwn(user) else { return }
        try setWindows(of: key, role: role) { windows in
            if windows.last.map({ $0.to != nil && change.seq > $0.to! }) ?? true {
                windows.append(Window(from: change.seq))
            }
        }
    }

    private func removeMember(_ change: Change, _ key: Int64) throws(StorageError) {
        guard let user = change.userId else { return }
        try connection.run("UPDATE conversations SET member_count = max(0, member_count - 1) WHERE key = ?1", key)
        try connection.run("DELETE FROM members WHERE conversation = ?1 AND user_id = ?2", key, user)
        guard try isOwn(user) else { return }
        try setWindows(of: key, role: nil) { windows in
            if let last = windows.indices.last, windows[last].to == nil { windows[last].to = change.seq }
        }
        // Former members are not told any more.
        try setPermissions(nil, of: key)
        try setLifetime(nil, of: key)
    }

    private func setLifetime(_ lifetime: MessageLifetime?, of key: Int64) throws(StorageError) {
        try connection.run(
            "UPDATE conversations SET lifetime = ?2, lifetime_seq = ?3, lifetime_from = ?4 WHERE key = ?1", key,
            lifetime.map { Int64($0.seconds) }, lifetime?.sinceSeq, lifetime?.storedStart)
    }

    private func setPermissions(_ permissions: Permissions?, of key: Int64) throws(StorageError) {
        try connection.run("UPDATE conversations SET permissions = ?2 WHERE key = ?1", key, permissions?.stored)
    }

    private func changeMember(_ change: Change, _ key: Int64) throws(StorageError) {
        guard let user = change.userId, let role = change.role else { return }
        try connection.run(
            "UPDATE members SET role = ?3 WHERE conversation = ?1 AND user_id = ?2", key, user, role)
        if try isOwn(user) { try setWindows(of: key, role: role) { _ in } }
    }

    private func setWindows(
        of key: Int64, role: Open<MemberRole>?, _ change: (inout [Window]) -> Void
    ) throws(StorageError) {
        var windows =
            try connection.first("SELECT windows FROM conversations WHERE key = ?1", key) {
                [Window](stored: $0.text(0))
            } ?? []
        change(&windows)
        try connection.run(
            "UPDATE conversations SET windows = ?2, role = coalesce(?3, role) WHERE key = ?1", key, windows.stored, role
        )
    }

    func isOwn(_ user: UserID) throws(StorageError) -> Bool {
        try connection.first("SELECT 1 FROM account WHERE user_id = ?1", user) { _ in true } ?? false
    }

    // MARK: The private stream

    /// Applies a private change, and moves the cursor if it is the next one. Changes that were applied are passed over.
    func apply(_ change: PrivateChange) throws(StorageError) {
        let useq = try connection.first("SELECT useq FROM account") { $0.optional(0, $0.integer) } ?? nil
        guard change.useq > useq ?? 0 else { return }
        try applyNew(change)
        guard change.useq == (useq ?? 0) + 1 else { return }
        try connection.run("UPDATE account SET useq = ?1", change.useq)
    }

    private func applyNew(_ change: PrivateChange) throws(StorageError) {
        guard let id = change.conversationId else {
            guard change.kind == .settingsChanged else { return }
            try connection.run(
                """
                UPDATE account SET read_receipts = coalesce(?1, read_receipts), presence = coalesce(?2, presence)
                """, change.readReceipts, change.presence)
            return
        }
        switch change.kind {
        case .known(.conversationJoined): try join(id, lastSeq: change.lastSeq ?? 0)
        case .known(.conversationRemoved): try discard(id)
        // A response that was asked for before may be what the conversation begins with here.
        case .known(.muted), .known(.pinned), .known(.archived), .known(.markedUnread):
            try applyMark(change, to: stateOrNew(id).key)
        case .known(.draft): try applyDraft(change, in: id)
        case .known(.request): try applyRequest(change, in: id)
        case .known(.conversationLeft):
            try dropDrafts(in: id)
            try applyRequest(change, in: id)
        case .known(.blocked):
            try applyBlock(change)
            try outdateRequests()
            if change.blocked == true { try dropDrafts(in: id) }
            try moveWindow(of: id, isOpen: change.blocked == false)
        default: if let state = try state(of: id) { try apply(change, state) }
        }
    }

    private func apply(_ change: PrivateChange, _ state: ConversationState) throws(StorageError) {
        switch change.kind {
        case .known(.messageHidden):
            if let message = change.messageId { try hide(message, in: state.key) }
        case .known(.historyCleared): try clear(state.key, through: change.throughSeq ?? 0)
        case .known(.readMoved): try moveRead(state.key, to: change.readSeq ?? 0)
        case .known(.settingsChanged):
            try connection.run(
                "UPDATE conversations SET read_receipts = ?2, inherits_read_receipts = ?3 WHERE key = ?1", state.key,
                change.readReceipts, change.inherited?.contains(.known(.readReceipts)))
        default: break
        }
    }

    /// The user is in the conversation, perhaps again: then the messages of earlier stays may have changed unseen.
    private func join(_ id: ConversationID, lastSeq: Int64) throws(StorageError) {
        let state = try stateOrNew(id)
        try connection.run(
            "UPDATE conversations SET requested_at = NULL, requested_by = NULL WHERE key = ?1", state.key)
        if state.cursor == nil {
            try follow(state.key, from: lastSeq)
        } else if lastSeq > 0 {
            try outdate(1...lastSeq, in: state.key)
            try connection.run(
                "UPDATE conversations SET first_cursor = max(first_cursor, ?2) WHERE key = ?1", state.key, lastSeq)
        }
        // Who else came and went in between is in no change.
        try connection.run("UPDATE conversations SET needs_head = 1 WHERE key = ?1", state.key)
    }

    /// A window of the direct conversation has ended or begun, which no change tells. Messages of before may have changed
    /// unseen until it began, which also brings it back into the list.
    private func moveWindow(of id: ConversationID, isOpen: Bool) throws(StorageError) {
        if isOpen {
            let state = try stateOrNew(id)
            try outdate(1...max(1, state.headSeq, state.cursor ?? 0), in: state.key)
        }
        try connection.run("UPDATE conversations SET needs_head = 1 WHERE id = ?1", id)
    }

    /// Marks messages as read. The position only moves forward; with it a mark as unread ends.
    func moveRead(_ key: Int64, to seq: Int64) throws(StorageError) {
        let isMarked = try connection.first(
            "UPDATE conversations SET read_seq = ?2 WHERE key = ?1 AND read_seq < ?2 RETURNING is_marked_unread", key,
            seq
        ) { $0.flag(0) }
        if isMarked ?? false { try endMarkAsUnread(key) }
    }
}

extension Change {
    /// Messages that go by themselves are none.
    fileprivate var isActivity: Bool {
        kind != .historyTrimmed && !(kind == .messageDeleted && message?.expired ?? false)
    }

    /// Whether the history may show it by a message that the change does not carry.
    fileprivate var isShownWithoutMessage: Bool {
        switch kind {
        case .known(.memberAdded), .known(.memberRemoved), .known(.memberChanged), .known(.conversationRenamed): true
        case .known: false
        case .unknown: message == nil
        }
    }
}
