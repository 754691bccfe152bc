import Models
import Postgres
import Wire

/// A user marks a conversation for themselves: mutes it, pins it, archives it, or marks it as unread.
struct MarkConversation: WriteKind {
    struct Input: NamedFields {
        let kind: Parameter<Int16>
        let until: Parameter<Timestamp?>
        let number: Parameter<Int64?>
    }

    static let statement = PreparedWrite<Input>(
        "mark_conversation", PackageResources.mark_conversation_sql, .store)

    let mark: Mark

    /// The mark and its value: a key serves no other.
    var subject: UUIDBytes? {
        UUIDBytes(
            high: UInt64(mark.kind.rawValue) << 8 | (mark.number == nil ? 0 : 1),
            low: UInt64(bitPattern: mark.number ?? 0))
    }

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.kind, to: Int16(mark.kind.rawValue))
        parameters.set(input.until, to: mark.until)
        parameters.set(input.number, to: mark.number)
    }

    var changes: WriteChanges { .none }

    func lock(_ locks: inout Locks, for write: Write) { locks.insert(listsOf: write.actor) }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, mark.kind) { fields, change in fields.marks = mark.told(at: change.detail ?? 0) }
    }

    func explanation(of code: Problem.Code) -> String? {
        guard code == .conflict else { return nil }
        let unlisted = "you have taken the conversation out of your list, or \(WriteStatement.everyConflict)"
        guard case .pinned(.some) = mark else { return unlisted }
        return """
            order: you have pinned \(ContractLimits.pinnedConversations) conversations, as many as a user may, or \
            \(unlisted)
            """
    }
}

extension Mark {
    fileprivate var until: Timestamp? {
        if case .muted(let until) = self { until } else { nil }
    }

    /// What the private change says. See mark_conversation.sql for the position.
    fileprivate func told(at position: Int64) -> Marks {
        switch self {
        case .muted: Marks(mutedUntil: until, archivedSeq: position == 0 ? nil : position)
        case .pinned(let order): Marks(pinOrder: order)
        case .archived: Marks(archivedSeq: position == 0 ? nil : position)
        case .unread(let isMarked): Marks(unread: .init(isMarked: isMarked, readSeq: position))
        }
    }
}
