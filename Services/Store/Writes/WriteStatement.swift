import Models
import Postgres
import Slots
import Wire

/// What the statements that carry out one `Write` each have in common.
///
/// A statement decides in one place, `verdict`, what is to become of the write, and everything else happens only where the
/// write is due. The conversation's row is locked before, so what it decides on cannot change meanwhile. Keys are locked,
/// too: nobody else keeps an outcome under the same key.
enum WriteStatement {
    /// The parameters of all writes.
    struct Input: NamedFields {
        let slot: Parameter<Slot>
        let conversation: Parameter<ConversationID>
        let actor: Parameter<UserID>
        let actorSlot: Parameter<Slot>
        let knownBy: Parameter<[UUIDBytes?]>
        let action: Parameter<Int16>
        let subject: Parameter<UUIDBytes?>
    }

    /// The columns of {write_result}: all that a write returns.
    struct Columns: NamedFields {
        let problem: Column<Int16>
        let isRepeat: Column<Bool>
        let isDue: Column<Bool>
        let seq: Column<Int64>
        let at: Column<Timestamp>
        let positions: Column<Int64>
        let useq: Column<Int64?>
        let told: Column<Int64?>
    }

    private static let columns = SQLNames.store.columns(Columns.self, of: "write_result")

    static func decode(_ row: Row) -> Result {
        Result(
            problem: Problem.Code(rawValue: UInt8(row[columns.problem])), isRepeat: row[columns.isRepeat],
            change: row[columns.isDue] ? Result.Change(row, columns) : nil)
    }

    /// What a write is known by when it comes again: two elements, of which one is NULL at least. The client's key is kept
    /// for ever; the request, without a key, for as long as the bus may repeat it.
    static func knownBy(_ key: UUIDBytes?, _ request: RequestKey?) -> [UUIDBytes?] {
        [key, key == nil ? request?.uuid : nil]
    }

    /// What became of a write.
    struct Result {
        let problem: Problem.Code?
        /// The outcome belongs to an earlier request with this key.
        let isRepeat: Bool
        /// Set when something changed.
        let change: Change?

        struct Change {
            /// The conversation's position after the write, and the time of the write.
            let seq: Int64
            let at: Timestamp
            /// The number of positions, ending at `seq`, that the write took.
            let positions: Int64
            /// The new position of the notified private stream.
            let useq: Int64?
            /// The conversation position that the private change reports, or another value that the statement defines.
            let told: Int64?

            init(_ row: Row, _ columns: Columns) {
                seq = row[columns.seq]
                at = row[columns.at]
                positions = row[columns.positions]
                useq = row[columns.useq]
                told = row[columns.told]
            }
        }
    }
}

extension Parameters {
    /// - Parameter request: what makes a write happen once that has no key. Nil: it may be repeated as it is.
    mutating func set(_ input: WriteStatement.Input, to write: Write, _ request: RequestKey?) {
        set(input.slot, to: write.conversation.slot)
        set(input.conversation, to: write.conversation)
        set(input.actor, to: write.actor)
        set(input.actorSlot, to: write.actor.slot)
        set(input.knownBy, to: WriteStatement.knownBy(write.key, request))
        set(input.action, to: Int16(write.action.number))
        set(input.subject, to: write.action.subject)
    }
}

// MARK: Statement of each action

extension WriteStatement {
    static let all = [
        EditMessage.statement.untyped, DeleteMessage.statement.untyped, HideMessage.statement.untyped,
        SetTapback.statement.untyped, RemoveTapback.statement.untyped, PutMember.statement.untyped,
        RemoveMember.statement.untyped, RemoveMember.ofErased.untyped, RenameConversation.statement.untyped,
        ClearHistory.statement.untyped, UnlistConversation.statement.untyped,
        PutConversationSettings.statement.untyped,
    ]

    /// Adds the write and, after it, a statement that reads its changes for the announcement.
    static func add(_ write: Write, _ request: RequestKey, _ limit: ConversationLimit, to batch: inout Batch) {
        switch write.action {
        case .edit(_, let text): EditMessage.add(write, request, text, to: &batch)
        case .deleteForEveryone: add(DeleteMessage.statement, write, request, to: &batch)
        case .hide: add(HideMessage.statement, write, request, to: &batch)
        case .setTapback(_, let kind): SetTapback.add(write, request, kind, to: &batch)
        case .removeTapback: add(RemoveTapback.statement, write, request, to: &batch)
        case .putMember(let user, let role):
            PutMember.add(write, request, user, role, limit.whenAddedByOthers, to: &batch)
        case .removeMember(let user): RemoveMember.add(write, request, user, to: &batch)
        case .rename(let title): RenameConversation.add(write, request, title, to: &batch)
        case .clearHistory(let through): ClearHistory.add(write, request, through, to: &batch)
        case .unlist: UnlistConversation.add(write, request, limit.unlisted, to: &batch)
        case .putSettings(let readReceipts): PutConversationSettings.add(write, request, readReceipts, to: &batch)
        }
        batch.execute(FeedStatement.latest) { parameters in
            parameters.add(write.conversation.slot)
            parameters.add(write.conversation)
        }
    }

    /// A write with no parameters of its own.
    private static func add(
        _ statement: PreparedStatement<Input, Columns>, _ write: Write, _ request: RequestKey, to batch: inout Batch
    ) {
        batch.execute(statement) { parameters, input in parameters.set(input, to: write, request) }
    }
}

extension RequestKey {
    /// The form that the database stores.
    var uuid: UUIDBytes { UUIDBytes(high: origin.number, low: number.rawValue) }
}

extension Write {
    /// The user whose private stream reports the write.
    var toldPrivately: UserID? {
        switch action {
        case .hide, .clearHistory, .putSettings, .unlist: actor
        case .putMember(let user, _), .removeMember(let user): user
        case .edit, .deleteForEveryone, .setTapback, .removeTapback, .rename: nil
        }
    }
}

extension Write.Action {
    var answersWithoutBody: Bool {
        switch self {
        case .deleteForEveryone, .hide, .removeTapback, .removeMember, .clearHistory, .unlist: true
        case .edit, .setTapback, .putMember, .rename, .putSettings: false
        }
    }

    /// Whether a text is replaced or erased. The index has to follow.
    var changesText: Bool {
        switch self {
        case .edit, .deleteForEveryone: true
        default: false
        }
    }

    /// Distinguishes a repetition from another request under the same key.
    var subject: UUIDBytes? {
        switch self {
        case .putMember(let user, _), .removeMember(let user): UUIDBytes(hashOf: user.name)
        default: message?.uuid
        }
    }

    /// The message that the write concerns.
    var message: MessageID? {
        switch self {
        case .edit(let message, _), .deleteForEveryone(let message), .hide(let message), .setTapback(let message, _),
            .removeTapback(let message):
            message
        case .putMember, .removeMember, .rename, .clearHistory, .putSettings, .unlist: nil
        }
    }
}
