import Models

/// A message as a screen shows it: as the server knows it, with what the user did since.
public struct TimelineRow: Hashable, Sendable, Identifiable {
    public enum State: Hashable, Sendable {
        /// The server has it. How far it got is told by its receipts.
        case stored
        case sending
        /// The server refused it. Later messages wait until it is retried, edited or discarded.
        case failed(ProblemDetails)
    }

    /// The parent of a reply, as far as it is known and may be shown.
    public struct Parent: Hashable, Sendable {
        public var id: MessageID
        public var senderId: UserID?
        /// The first 50 characters of its text; nil until it is loaded.
        public var preview: String?

        public init(id: MessageID, senderId: UserID? = nil, preview: String? = nil) {
            self.id = id
            self.senderId = senderId
            self.preview = preview
        }
    }

    public var id: MessageID { message.id }
    /// `seq` is 0 until the server has it.
    public var message: Message
    public var state: State
    /// Nil for a message that is no reply, and where the parent is gone or of somebody who is not shown.
    public var parent: Parent?
    /// The files of the message, with what this device has of them.
    public var attachments: [AttachmentRow]

    public init(
        message: Message, state: State = .stored, parent: Parent? = nil, attachments: [AttachmentRow] = []
    ) {
        self.message = message
        self.state = state
        self.parent = parent
        self.attachments = attachments
    }
}

/// Messages in order, without a hole between them.
public struct TimelinePage: Hashable, Sendable {
    /// Ascending; what is on its way comes last, in the order of writing.
    public var rows: [TimelineRow]
    /// Whether there is more before, or after, these rows, in the copy or on the server.
    public var hasMoreBefore: Bool
    public var hasMoreAfter: Bool
    /// What has to be loaded to show more than this; nil if everything asked for is here.
    package var gap: HistoryPlace?
}

/// Which part of a timeline to show.
public enum TimelineAnchor: Hashable, Sendable {
    case newest
    /// Around a position.
    case around(seq: Int64)
}

extension LocalStore {
    /// A window of a conversation's timeline. A hole in the copy ends it, and is named as its gap.
    package func timeline(
        of id: ConversationID, _ anchor: TimelineAnchor, limit: Int
    ) throws(StorageError) -> TimelinePage {
        let pending = try outbox(of: id)
        guard let view = try view(of: id, pending) else {
            let rows = try withOverlay([], pending, in: id, isAtEnd: true)
            return TimelinePage(rows: rows, hasMoreBefore: false, hasMoreAfter: false, gap: nil)
        }
        let half = max(1, limit / 2)
        var page =
            switch anchor {
            case .newest: try newest(view, limit: limit)
            case .around(let seq): try around(seq, view, before: half, after: half)
            }
        page.rows = try withOverlay(page.rows.map(\.message), pending, in: id, isAtEnd: !page.hasMoreAfter)
        return page
    }

    /// The messages up to a position and after it.
    package func timeline(
        of id: ConversationID, around seq: Int64, before: Int, after: Int
    ) throws(StorageError) -> TimelinePage {
        let pending = try outbox(of: id)
        guard let view = try view(of: id, pending) else { return .empty }
        var page = try around(seq, view, before: before, after: after)
        page.rows = try withOverlay(page.rows.map(\.message), pending, in: id, isAtEnd: !page.hasMoreAfter)
        return page
    }

    /// The latest message of a conversation, which may be one that is on its way.
    func preview(of conversation: Conversation, _ pending: [OutboxRow]) throws(StorageError) -> TimelineRow? {
        if pending.isEmpty, let last = conversation.lastMessage, last.replyTo == nil {
            return TimelineRow(message: last, state: .stored)
        }
        let last = conversation.lastMessage.map { [$0] } ?? []
        return try withOverlay(last, pending, in: conversation.id, isAtEnd: true).last
    }

    /// The first message that the user has not read, if there is one in the copy.
    package func firstUnread(in id: ConversationID) throws(StorageError) -> Int64? {
        try connection.first(
            """
            SELECT min(m.seq) FROM conversations c JOIN shown_messages m ON m.conversation = c.key
            WHERE c.id = ?1 AND m.seq > max(c.read_seq, c.cleared_seq) AND m.kind IN ('text', 'reply', 'sealed', 'poll')
                AND m.deleted_at IS NULL AND m.sender_id <> (SELECT coalesce(user_id, '') FROM account)
            """, id
        ) { $0.optional(0, $0.integer) } ?? nil
    }

    private struct View {
        let key: Int64
        let firstSeq: Int64
        let lastSeq: Int64
    }

    private func view(of id: ConversationID, _ pending: [OutboxRow]) throws(StorageError) -> View? {
        let cleared = pending.compactMap { row -> Int64? in
            guard row.state == .waiting, case .clearHistory(let through) = row.write else { return nil }
            return through
        }.max()
        return try connection.first(
            "SELECT key, windows, cleared_seq, last_seq FROM conversations WHERE id = ?1 AND head_seq > 0", id
        ) { row in
            let windows = [Window](stored: row.text(1))
            return View(
                key: row.integer(0),
                firstSeq: max(windows.first?.from ?? 1, max(row.integer(2), cleared ?? 0) + 1),
                lastSeq: row.integer(3))
        }
    }

    private func newest(_ view: View, limit: Int) throws(StorageError) -> TimelinePage {
        let range = try ranges(in: view.key).last
        var page = try newest(view, of: range, limit: limit)
        let untold = try untold(in: view.key, after: max(range?.upperBound ?? 0, view.firstSeq - 1))
        page.rows += untold.map { TimelineRow(message: $0, state: .stored) }
        return page
    }

    private func newest(_ view: View, of range: ClosedRange<Int64>?, limit: Int) throws(StorageError) -> TimelinePage {
        guard view.firstSeq <= view.lastSeq else { return .empty }
        guard let range, range.upperBound >= view.firstSeq else {
            return TimelinePage(rows: [], hasMoreBefore: true, hasMoreAfter: false, gap: .newest)
        }
        let first = max(range.lowerBound, view.firstSeq)
        let found = try messages(in: view.key, from: first, through: range.upperBound, limit: limit + 1)
        var page = TimelinePage(
            rows: found.suffix(limit).map { TimelineRow(message: $0, state: .stored) },
            hasMoreBefore: found.count > limit || first > view.firstSeq, hasMoreAfter: false)
        if range.upperBound < view.lastSeq {
            // A few changes are on their way, or a long absence is being made up for.
            page.gap = view.lastSeq - range.upperBound < 100 ? .after(range.upperBound) : .newest
        } else if found.count <= limit, first > view.firstSeq {
            page.gap = .before(range.lowerBound)
        }
        return page
    }

    /// The user's own messages that a response told of and the stream has not brought yet: they stay where they were while
    /// they were on their way.
    private func untold(in conversation: Int64, after seq: Int64) throws(StorageError) -> [Message] {
        try connection.all(
            """
            SELECT m.*, c.id FROM conversations c JOIN messages m ON m.conversation = c.key
            WHERE c.key = ?1 AND m.seq > max(coalesce(c.cursor, 0), ?2) AND m.sender_id = (SELECT user_id FROM account)
            ORDER BY m.seq LIMIT 100
            """, conversation, seq, read: Self.message
        ).map(\.message)
    }

    private func around(
        _ seq: Int64, _ view: View, before: Int, after: Int
    ) throws(StorageError) -> TimelinePage {
        guard let range = try range(at: seq, in: view.key) else {
            return TimelinePage(rows: [], hasMoreBefore: true, hasMoreAfter: true, gap: .around(seq))
        }
        let first = max(range.lowerBound, view.firstSeq)
        let older = try messages(in: view.key, from: first, through: seq, limit: before + 1)
        let newer = try messagesAscending(
            in: view.key, from: seq + 1, through: range.upperBound, limit: after + 1)
        var page = TimelinePage(
            rows: (older.suffix(before) + newer.prefix(after)).map { TimelineRow(message: $0, state: .stored) },
            hasMoreBefore: older.count > before || first > view.firstSeq,
            hasMoreAfter: newer.count > after || range.upperBound < view.lastSeq)
        if older.count <= before, first > view.firstSeq {
            page.gap = .before(range.lowerBound)
        } else if newer.count <= after, range.upperBound < view.lastSeq {
            page.gap = .after(range.upperBound)
        }
        return page
    }

    // MARK: What the user did since

    private func withOverlay(
        _ stored: [Message], _ pending: [OutboxRow], in id: ConversationID, isAtEnd: Bool
    ) throws(StorageError) -> [TimelineRow] {
        let own = try userId()
        var rows = stored.map { TimelineRow(message: $0, state: .stored) }
        if isAtEnd {
            let known = Set(stored.map(\.id))
            rows += pending.compactMap { $0.unsent(in: id, by: own, files) }.filter { !known.contains($0.id) }
        }
        let changes = Dictionary(grouping: pending.filter { $0.state == .waiting && $0.message != nil }) { $0.message! }
        rows = rows.compactMap { row in
            guard let changes = changes[row.id] else { return row }
            return changes.reduce(row) { row, change in row?.with(change, by: own) }
        }
        for index in rows.indices {
            rows[index].parent = try parent(of: rows[index].message, pending)
            if rows[index].state == .stored { rows[index].attachments = try attachmentRows(of: rows[index].message) }
        }
        return rows
    }

    private func parent(of message: Message, _ pending: [OutboxRow]) throws(StorageError) -> TimelineRow.Parent? {
        guard let reference = message.replyTo, !message.deletedForEveryone else { return nil }
        if let parent = try self.message(reference.messageId, in: message.conversationId) {
            let isHidden = try isHidden(parent.senderId, in: message.conversationId)
            guard !parent.deletedForEveryone, !isHidden else { return nil }
            return .init(
                id: parent.id, senderId: parent.senderId, preview: parent.previewText.map { String($0.prefix(50)) })
        }
        if let sending = pending.first(where: { $0.message == reference.messageId }),
            let row = sending.unsent(in: message.conversationId, by: try userId(), files)
        {
            return .init(
                id: reference.messageId, senderId: row.message.senderId,
                preview: row.message.previewText.map { String($0.prefix(50)) })
        }
        let isGone = try isHidden(reference.messageId, in: message.conversationId)
        if let sender = reference.senderId, try isHidden(sender, in: message.conversationId) { return nil }
        guard !reference.unavailable, !isGone else { return nil }
        return .init(id: reference.messageId, senderId: reference.senderId, preview: reference.preview)
    }

    private func isHidden(_ message: MessageID, in id: ConversationID) throws(StorageError) -> Bool {
        try connection.first(
            """
            SELECT 1 FROM conversations c JOIN hidden h ON h.conversation = c.key
            WHERE c.id = ?1 AND h.message_id = ?2
            """, id, message
        ) { _ in true } ?? false
    }
}

extension TimelinePage {
    fileprivate static let empty = TimelinePage(rows: [], hasMoreBefore: false, hasMoreAfter: false, gap: nil)
}

extension OutboxRow {
    /// The message that this row sends.
    func unsent(in conversation: ConversationID, by user: UserID?, _ folder: FileFolder) -> TimelineRow? {
        guard let message, let user else { return nil }
        if case .forward(_, let content, let sentAt) = write {
            return TimelineRow(
                message: Message(
                    id: message, conversationId: conversation, seq: 0, changeSeq: 0, senderId: user, kind: .text,
                    text: content.text, sentAt: sentAt, createdAt: at, attachments: content.attachments,
                    forwarded: content.forwarded),
                state: problem.map { .failed($0) } ?? .sending,
                attachments: (content.attachments ?? []).map { AttachmentRow(attachment: $0, message: message) })
        }
        guard
            case .send(let text, let parent, let mentions, let sentAt, let extra, let all, let sealed, let poll) = write
        else { return nil }
        let isSealed = sealed == true
        let shown = Message(
            id: message, conversationId: conversation, seq: 0, changeSeq: 0, senderId: user,
            kind: poll != nil ? .poll : isSealed ? .sealed : parent == nil ? .text : .reply,
            text: isSealed || text.isEmpty && fileCount > 0 ? nil : text, sealed: isSealed ? text : nil,
            poll: poll.map { Poll(options: $0.options.map { .init(text: $0) }, multiple: $0.multiple ?? false) },
            sentAt: sentAt, createdAt: at, replyTo: parent.map { Reference(messageId: $0, seq: 0) }, mentions: mentions,
            mentionsAll: all ?? false, attachments: fileCount > 0 ? files.map(\.attachment) : nil, extra: extra)
        return TimelineRow(
            message: shown, state: problem.map { .failed($0) } ?? .sending,
            attachments: files.map { $0.row(of: message, in: folder) })
    }
}

extension TimelineRow {
    /// The row after a change that waits; nil if it is not shown any more.
    fileprivate func with(_ change: OutboxRow, by user: UserID?) -> TimelineRow? {
        var row = self
        switch change.write {
        case .deleteForMe: return nil
        case .edit(let text, let isSealed) where !message.deletedForEveryone:
            if isSealed == true { row.message.sealed = text } else { row.message.text = text }
            row.message.editedAt = change.at
        case .deleteForEveryone: row.message.bury(at: change.at)
        case .setTapback(let kind): row.message.setTapback(kind, of: user)
        case .removeTapback: row.message.setTapback(nil, of: user)
        case .vote(let options): if let user { row.message.poll?.set(Poll.Vote(userId: user, options: options)) }
        case .closePoll where message.poll?.closedAt == nil: row.message.poll?.closedAt = change.at
        case .pinMessage(let isPinned): row.message.setPin(isPinned, by: user, at: change.at)
        default: break
        }
        return row
    }
}

extension Message {
    fileprivate mutating func bury(at time: Timestamp) {
        text = nil
        sealed = nil
        poll = nil
        forwarded = nil
        deletedForEveryone = true
        deletedAt = deletedAt ?? time
        tapbacks = []
        tapbackCounts = [:]
        mentions = []
        mentionsAll = false
        attachments = nil
        extra = nil
        pinned = nil
    }

    fileprivate mutating func setPin(_ isPinned: Bool, by user: UserID?, at time: Timestamp) {
        guard let user, !deletedForEveryone else { return }
        // As the latest pin, until the server has said where it is.
        pinned = isPinned ? pinned ?? MessagePin(seq: .max, userId: user, at: time) : nil
    }

    fileprivate mutating func setTapback(_ kind: TapbackKind?, of user: UserID?) {
        guard let user, !deletedForEveryone else { return }
        if let index = tapbacks.firstIndex(where: { $0.userId == user }) {
            tapbackCounts = tapbackCounts.without(tapbacks[index].kind)
            tapbacks.remove(at: index)
        }
        guard let kind else { return }
        tapbackCounts = tapbackCounts.with(kind)
        tapbacks.insert(Tapback(userId: user, kind: kind), at: 0)
    }
}
