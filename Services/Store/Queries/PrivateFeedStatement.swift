import Models
import Postgres
import Slots
import Wire

/// A user's private changes after a position, and the position of the stream, in one snapshot.
enum PrivateFeedStatement {
    struct Input: NamedFields {
        let user: UserInput
        let after: Parameter<Int64>
        let limit: Parameter<Int64>
    }

    struct Columns: NamedFields {
        let lastUseq: Column<Int64>
        let useq: Column<Int64?>
        /// A number, because kinds of a later version may be among them.
        let kind: Column<Int16>
        let at: Column<Timestamp>
        let conversationId: Column<ConversationID?>
        let seq: Column<Int64?>
        let lastSeq: Column<Int64?>
        let messageId: Column<MessageID?>
        let conversationReadReceipts: Column<Bool?>
        let readReceipts: Column<Bool?>
        let presence: Column<Bool?>
        let memberCount: Column<Int32?>
        let mutedUntil: Column<Timestamp?>
        let pinOrder: Column<Int64?>
        let archivedSeq: Column<Int64?>
        let markedUnreadSeq: Column<Int64?>
        let readSeq: Column<Int64?>
        let aboutId: Column<UserID?>
        let isBlocked: Column<Bool?>
        let isWaiting: Column<Bool?>
        let profileVersion: Column<Int64?>
        let draftText: Column<String?>
        let draftReplyId: Column<MessageID?>
        let scheduledAt: Column<Timestamp?>
        let scheduledText: Column<String?>
        let scheduledReplyId: Column<MessageID?>
        let scheduledMentions: Column<String?>
        let scheduledExtra: Column<String?>
        let scheduledProblem: Column<Int16?>
        let scheduledFailedAt: Column<Timestamp?>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "private_feed", PackageResources.private_feed_sql, .store)
    static let columns = statement.columns

    static func set(_ query: PrivateReplayQuery, of input: Input, in parameters: inout Parameters) {
        parameters.set(input.user, to: query.user)
        parameters.set(input.after, to: query.after)
        parameters.set(input.limit, to: Int64(query.limit))
    }

    static func lastUseq(_ row: Row) -> Int64 { row[columns.lastUseq] }

    /// Whether the stream cannot be followed from `useq`, because the next changes are no longer kept or are too many.
    static func isTooOld(_ useq: Int64, _ rows: Rows) -> Bool {
        guard let row = rows.first else { return false }
        let first = row[columns.useq]
        return lastUseq(row) - useq > PrivateTail.kept || first ?? 0 > useq + 1
    }

    /// The last position before the stay, for a user who joined.
    static func start(_ row: Row) -> Int64? { row[columns.seq] }
}

extension PrivateChangeFields {
    init?(_ row: Row) {
        let columns = PrivateFeedStatement.columns
        guard let useq = row[columns.useq], let kind = PrivateKind(rawValue: UInt8(row[columns.kind])) else {
            return nil
        }
        self.kind = kind
        self.useq = useq
        at = row[columns.at]
        conversation = row[columns.conversationId]
        // A replayed join carries the conversation's present position. A client that was away has the conversation from
        // `welcome` on, and what came before is history.
        lastSeq = kind == .conversationJoined ? row[columns.lastSeq] : nil
        message = row[columns.messageId]
        if kind == .conversationJoined { memberCount = Int(row[columns.memberCount] ?? 0) }
        throughSeq = kind == .historyCleared ? row[columns.seq] : nil
        readSeq = kind == .readMoved ? row[columns.seq] : nil
        settings = kind == .settingsChanged ? Settings(row, columns) : nil
        marks = Marks(row, columns, of: kind)
        joinsSilently = kind == .conversationJoined && row[columns.lastSeq] ?? 0 <= row[columns.seq] ?? 0
        profileVersion = row[columns.profileVersion]
        draft = row[columns.draftText].map { KeptDraft(text: $0, replyTo: row[columns.draftReplyId], at: at) }
        scheduled = ScheduledFields(row, columns, useq)
        isWaiting = row[columns.isWaiting]
        requester = kind == .joinRequested ? row[columns.aboutId] : nil
        if kind == .blocked {
            block = Block(
                user: row[columns.aboutId], isBlocked: row[columns.isBlocked] ?? false, seq: row[columns.seq] ?? 0)
        }
    }
}

extension ScheduledFields {
    /// Nil: the change tells of none, or a later one tells of it.
    fileprivate init?(_ row: Row, _ columns: PrivateFeedStatement.Columns, _ useq: Int64) {
        guard let conversation = row[columns.conversationId], let id = row[columns.messageId],
            let at = row[columns.scheduledAt], let text = row[columns.scheduledText]
        else { return nil }
        self.init(
            conversation: conversation, id: id, useq: useq, at: at, text: text, replyTo: row[columns.scheduledReplyId],
            mentions: row[columns.scheduledMentions] ?? "", extra: row[columns.scheduledExtra] ?? "")
        if let code = row[columns.scheduledProblem], let failedAt = row[columns.scheduledFailedAt] {
            failure = Failure(code, at: failedAt)
        }
    }
}

extension Marks {
    /// A replayed change carries the marks in force now. Nil for other kinds.
    fileprivate init?(_ row: Row, _ columns: PrivateFeedStatement.Columns, of kind: PrivateKind) {
        switch kind {
        case .muted:
            self.init(mutedUntil: row[columns.mutedUntil], archivedSeq: row[columns.archivedSeq])
        case .pinned: self.init(pinOrder: row[columns.pinOrder])
        case .archived: self.init(archivedSeq: row[columns.archivedSeq])
        case .markedUnread:
            let readSeq = row[columns.readSeq] ?? 0
            let isMarked = row[columns.markedUnreadSeq].map { $0 >= readSeq } ?? false
            self.init(unread: Unread(isMarked: isMarked, readSeq: readSeq))
        default: return nil
        }
    }
}

extension PrivateChangeFields.Settings {
    /// A replayed change of settings carries those in force now, as replayed changes of conversations do.
    fileprivate init(_ row: Row, _ columns: PrivateFeedStatement.Columns) {
        let own = row[columns.readReceipts]
        if row[columns.conversationId] == nil {
            self = .ofUser(UserSettings(readReceipts: own ?? true, presence: row[columns.presence] ?? true))
        } else {
            let decided = row[columns.conversationReadReceipts]
            self = .inConversation(
                ConversationSettings(
                    readReceipts: decided ?? own ?? true, inheritsReadReceipts: decided == nil))
        }
    }
}
