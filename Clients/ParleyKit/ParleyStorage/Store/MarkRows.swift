import Models

/// What a user does with a conversation for themselves. Nil takes it away.
package enum ConversationMark: Hashable, Sendable, Codable {
    case muted(until: Timestamp?)
    case pinned(order: Int64?)
    case archived(through: Int64?)
    case unread(Bool)
}

/// What a user keeps to themselves about a conversation. Stored as JSON.
struct KeptMarks: Hashable, Codable {
    var mutedUntil: Timestamp?
    var pinOrder: Int64?
    var archivedSeq: Int64?
    var unread: Bool?

    mutating func take(_ mark: ConversationMark) {
        switch mark {
        case .muted(let until): mutedUntil = until
        case .pinned(let order): pinOrder = order
        case .archived(let through): archivedSeq = through
        case .unread(let isMarked): unread = isMarked ? true : nil
        }
    }
}

/// The parts of `KeptMarks`, in `conversations.told_marks`.
private enum MarkBits {
    static let muted: Int64 = 1
    static let pinned: Int64 = 2
    static let archived: Int64 = 4
    static let unread: Int64 = 8
    static let draft: Int64 = 16
    static let all: Int64 = 31
}

extension LocalStore {
    private struct ToldMarks: Hashable {
        var marks: KeptMarks
        var told: Int64
        let readSeq: Int64
    }

    private func toldMarks(_ key: Int64) throws(StorageError) -> ToldMarks {
        let told = try connection.first("SELECT marks, told_marks, read_seq FROM conversations WHERE key = ?1", key) {
            ToldMarks(
                marks: $0.text(0).decoded(as: KeptMarks.self) ?? KeptMarks(), told: $0.integer(1),
                readSeq: $0.integer(2))
        }
        return told ?? ToldMarks(marks: KeptMarks(), told: 0, readSeq: 0)
    }

    private func set(_ told: ToldMarks, of key: Int64) throws(StorageError) {
        try connection.run(
            "UPDATE conversations SET marks = ?2, told_marks = ?3 WHERE key = ?1", key, String(json: told.marks),
            told.told)
        try showMarks(of: key)
    }

    /// Shows what the server told with what waits in the outbox.
    func showMarks(of key: Int64) throws(StorageError) {
        guard let id = try connection.first("SELECT id FROM conversations WHERE key = ?1", key, read: { $0.uuid(0) })
        else { return }
        var marks = try toldMarks(key).marks
        for row in try outbox(of: ConversationID(id)) where row.state == .waiting {
            if case .mark(let mark, _) = row.write { marks.take(mark) }
        }
        try connection.run(
            """
            UPDATE conversations SET muted_until = ?2, pin_order = ?3, archived_seq = ?4, is_marked_unread = ?5
            WHERE key = ?1
            """, key, marks.mutedUntil, marks.pinOrder, marks.archivedSeq, marks.unread ?? false)
    }

    // MARK: By the server

    /// A response says what the private stream has not told, or what it passes over.
    func takeMarks(_ head: Conversation, of key: Int64, readBefore: Int64) throws(StorageError) {
        let before = try toldMarks(key)
        var now = before
        if before.told & MarkBits.muted == 0 { now.marks.mutedUntil = head.mutedUntil }
        if before.told & MarkBits.pinned == 0 { now.marks.pinOrder = head.pinOrder }
        if before.told & MarkBits.archived == 0 { now.marks.archivedSeq = head.archivedSeq }
        if before.told & MarkBits.unread == 0 {
            now.marks.unread = head.markedUnread == true && head.readSeq >= before.readSeq ? true : nil
        } else if head.readSeq > readBefore {
            now.marks.unread = nil
        }
        if before.told & MarkBits.draft == 0 { try tell(head.draft, in: head.id, isWhole: true) }
        now.told = MarkBits.all
        if before.told != MarkBits.all { try changeMarksVersion(key) }
        if now != before { try set(now, of: key) }
    }

    func applyMark(_ change: PrivateChange, to key: Int64) throws(StorageError) {
        if change.kind == .markedUnread { try moveRead(key, to: change.readSeq ?? 0) }
        var now = try toldMarks(key)
        switch change.kind {
        case .known(.muted):
            now.marks.mutedUntil = change.mutedUntil
            now.marks.archivedSeq = change.archivedSeq
            now.told |= MarkBits.muted | MarkBits.archived
        case .known(.pinned):
            now.marks.pinOrder = change.pinOrder
            now.told |= MarkBits.pinned
        case .known(.archived):
            now.marks.archivedSeq = change.archivedSeq
            now.told |= MarkBits.archived
        default:
            now.marks.unread = change.markedUnread == true && change.readSeq ?? 0 >= now.readSeq ? true : nil
            now.told |= MarkBits.unread
        }
        try changeMarksVersion(key)
        try set(now, of: key)
    }

    func applyDraft(_ change: PrivateChange, in id: ConversationID) throws(StorageError) {
        let key = try stateOrNew(id).key
        try tell(change.draft, in: id)
        try connection.run("UPDATE conversations SET told_marks = told_marks | ?2 WHERE key = ?1", key, MarkBits.draft)
    }

    private func changeMarksVersion(_ key: Int64) throws(StorageError) {
        try connection.run("UPDATE conversations SET marks_version = random() WHERE key = ?1", key)
    }

    /// The user has read on, which ends a mark as unread.
    func endMarkAsUnread(_ key: Int64) throws(StorageError) {
        var now = try toldMarks(key)
        guard now.marks.unread != nil else { return try showMarks(of: key) }
        now.marks.unread = nil
        try set(now, of: key)
    }

    // MARK: By the user

    /// If the server tells of marks before it responds, which changes the version, what it tells is shown.
    func marksVersion(of id: ConversationID) throws(StorageError) -> Int64 {
        try connection.first("SELECT marks_version FROM conversations WHERE id = ?1", id) { $0.integer(0) } ?? 0
    }

    /// A mark is with the server. It stays as it is shown until that tells of marks, if it has not happened.
    func completeMark(after version: Int64, in id: ConversationID) throws(StorageError) {
        guard let state = try state(of: id), try marksVersion(of: id) != version else { return }
        try showMarks(of: state.key)
    }

    /// When the next mute ends. One for ever has no end.
    package func endOfMute(after now: Timestamp) throws(StorageError) -> Timestamp? {
        let end = try connection.first(
            "SELECT min(muted_until) FROM conversations WHERE muted_until > ?1 AND muted_until < ?2", now,
            Timestamp.forever
        ) { row in row.optional(0, row.time) }
        return end ?? nil
    }

    /// The highest place among the pinned, for one that is to stand above them.
    package func topPinOrder() throws(StorageError) -> Int64 {
        let lowest = try connection.first("SELECT min(pin_order) FROM conversations WHERE head_seq > 0") {
            $0.optional(0, $0.integer)
        }
        return (lowest ?? nil).map { $0 - 1 } ?? 0
    }
}
