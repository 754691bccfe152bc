import Models
import Postgres
import Slots
import Wire

/// Conversations as their reader sees them.
enum ConversationStatement {
    /// The number of rows at the end of a conversation that one statement looks at. If none of them is shown, or
    /// too few of them count, `UnreadWalk` looks at earlier ones.
    static let nearbyRows = 256

    /// The columns of {listed_conversation}, with which the rows of all three statements begin.
    struct Columns: NamedFields {
        let conversationId: Column<ConversationID>
        let conversationKind: Column<ConversationKind>
        let title: Column<String?>
        let conversationCreatedAt: Column<Timestamp>
        let lastSeq: Column<Int64>
        let shownAt: Column<Timestamp>
        let memberCount: Column<Int32>
        let role: Column<MemberRole>
        let joined: Column<[Int64]>
        let ended: Column<[Int64]>
        let clearedSeq: Column<Int64>
        let unreadCount: Column<Int32>
        let readSeq: Column<Int64>
        let deliveredSeq: Column<Int64>
        let mutedUntil: Column<Timestamp?>
        let isMuted: Column<Bool?>
        let pinOrder: Column<Int64?>
        let archivedSeq: Column<Int64?>
        let markedUnreadSeq: Column<Int64?>
        let draftText: Column<String?>
        let draftReplyId: Column<MessageID?>
        let draftAt: Column<Timestamp?>
        let permissions: Column<Int16?>
        let lifetime: Column<Int32?>
        let lifetimeSeq: Column<Int64?>
        let lifetimeFromReading: Column<Bool?>
        let keptFrom: Column<Int64?>
        let unreadRest: Column<Int64?>
        let latestRest: Column<Int64?>
        let message: MessageWithParentColumns
    }

    /// The columns of {member_conversation}.
    struct MemberColumns: NamedFields {
        let conversation: Columns
        let isWhole: Column<Bool>
    }

    static let columns = SQLNames.store.columns(Columns.self, of: "listed_conversation")

    static let all = [list.untyped, changed.untyped, byID.untyped]

    // MARK: The list

    struct ListInput: NamedFields {
        let reader: Parameter<UserID>
        let readerSlot: Parameter<Slot>
        let beforeAt: Parameter<Timestamp>
        let beforeConversation: Parameter<ConversationID>
        let limit: Parameter<Int64>
    }

    static let list = PreparedStatement<ListInput, MemberColumns>(
        "list_conversations", PackageResources.list_conversations_sql, .store)

    static func set(_ query: ListConversations, of input: ListInput, in parameters: inout Parameters) {
        parameters.set(input.reader, to: query.reader)
        parameters.set(input.readerSlot, to: query.reader.slot)
        parameters.set(input.beforeAt, to: query.before.lastActivityAt)
        parameters.set(input.beforeConversation, to: query.before.conversation)
        // One more row shows whether there are more.
        parameters.set(input.limit, to: Int64(query.limit) + 1)
    }

    // MARK: What changed

    struct ChangedInput: NamedFields {
        let reader: Parameter<UserID>
        let readerSlot: Parameter<Slot>
        let transaction: Parameter<Int64>
        let after: Parameter<ConversationID>
        let limit: Parameter<Int64>
    }

    static let changed = PreparedStatement<ChangedInput, MemberColumns>(
        "changed_conversations", PackageResources.changed_conversations_sql, .store)

    /// - Parameter limit: one more than wanted shows whether there are more.
    static func set(
        _ reader: UserID, since transaction: Int64, after conversation: ConversationID, limit: Int,
        of input: ChangedInput, in parameters: inout Parameters
    ) {
        parameters.set(input.reader, to: reader)
        parameters.set(input.readerSlot, to: reader.slot)
        parameters.set(input.transaction, to: transaction)
        parameters.set(input.after, to: conversation)
        parameters.set(input.limit, to: Int64(limit))
    }

    // MARK: Any reader

    struct ByIDInput: NamedFields {
        let reader: Parameter<UserID>
        let readerSlot: Parameter<Slot>
        let conversations: ConversationsInput
    }

    static let byID = PreparedStatement<ByIDInput, Columns>(
        "conversations", PackageResources.conversations_sql, .store)

    static func set(
        _ conversations: [ConversationID], for reader: UserID, of input: ByIDInput, in parameters: inout Parameters
    ) {
        parameters.set(input.reader, to: reader)
        parameters.set(input.readerSlot, to: reader.slot)
        parameters.set(input.conversations, to: conversations)
    }
}

extension ConversationFields {
    init(_ row: Row) {
        let columns = ConversationStatement.columns
        id = row[columns.conversationId]
        kind = row[columns.conversationKind]
        title = row[columns.title]
        createdAt = row[columns.conversationCreatedAt]
        lastSeq = row[columns.lastSeq]
        lastActivityAt = row[columns.shownAt]
        memberCount = Int(row[columns.memberCount])
        role = row[columns.role]
        lifetime = MessageLifetime(
            row[columns.lifetime], fromReading: row[columns.lifetimeFromReading], since: row[columns.lifetimeSeq])
        keptFrom = row[columns.keptFrom]
        permissions = row[columns.permissions].map { GroupPermissions(number: UInt8($0)) } ?? .byDefault
        let ended = row[columns.ended]
        isRequest = ended.last == RequestsStatement.end
        windows = zip(row[columns.joined], ended).map {
            Window(from: $0, through: $1 == 0 || $1 == RequestsStatement.end ? nil : $1)
        }
        clearedSeq = row[columns.clearedSeq]
        unreadCount = Int(row[columns.unreadCount])
        readSeq = row[columns.readSeq]
        deliveredSeq = row[columns.deliveredSeq]
        isMuted = row[columns.isMuted] ?? false
        marks = Marks(
            mutedUntil: row[columns.mutedUntil], pinOrder: row[columns.pinOrder], archivedSeq: row[columns.archivedSeq],
            unread: row[columns.markedUnreadSeq].map { Marks.Unread(isMarked: $0 >= readSeq, readSeq: readSeq) })
        if let text = row[columns.draftText], let at = row[columns.draftAt] {
            draft = KeptDraft(text: text, replyTo: row[columns.draftReplyId], at: at)
        }
    }
}
