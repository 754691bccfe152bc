import Models
import Postgres
import SimulationSupport
import Wire

// Changes by position: `FeedStatement`.
extension Database {
    /// $1 slot · $2 conversation · $3 after · $4 through · $5 limit · $6 as of. Each change has the current state of its message,
    /// or its state when the next member left.
    func replay(_ arguments: Arguments) -> [SimulatedRow] {
        guard let conversation = tables.conversations[arguments.value(1)] else { return [] }
        let removals = conversation.entries.compactMap { $0.isRemoval ? $0.seq : nil }
        let asOf: Int64 = arguments.value(5)
        return feed(page(of: conversation, arguments), of: conversation, lastSeq: conversation.lastSeq) { entry in
            if world.mutation == .textsAreOfNow { return conversation.lastSeq }
            return min(removals.first { $0 > entry.seq } ?? conversation.lastSeq, asOf)
        }
    }

    /// As above · $6 reader. Changes in the reader's windows, each with its message now, or as it was when they left.
    func changes(_ arguments: Arguments) -> [SimulatedRow] {
        let reader: UserID = arguments.value(5)
        guard let conversation = tables.conversations[arguments.value(1)], conversation.stays[reader] != nil else {
            return []
        }
        let end = conversation.end(for: reader)
        return feed(page(of: conversation, arguments, for: reader), of: conversation, lastSeq: end, for: reader) { _ in
            end
        }
    }

    /// $1 slot · $2 conversation. Returns the latest two changes, each with its message as of that change.
    func latestChanges(_ arguments: Arguments) -> [SimulatedRow] {
        guard let conversation = tables.conversations[arguments.value(1)] else { return [] }
        return feed(
            Array(conversation.entries.suffix(2)), of: conversation, lastSeq: conversation.lastSeq,
            countsMembers: false,
            asOf: \.seq)
    }

    private func page(
        of conversation: Tables.Conversation, _ arguments: Arguments, for reader: UserID? = nil
    ) -> [Tables.Entry] {
        let after: Int64 = arguments.value(2)
        let through: Int64 = arguments.value(3)
        let limit: Int64 = arguments.value(4)
        let entries = conversation.entries.lazy.filter { entry in
            entry.seq > after && entry.seq <= through
                && (reader.map { conversation.isVisible(entry.seq, to: $0) } ?? true)
        }
        return Array(entries.prefix(Int(limit)))
    }

    private func feed(
        _ entries: [Tables.Entry], of conversation: Tables.Conversation, lastSeq: Int64, for reader: UserID? = nil,
        countsMembers: Bool = true, asOf position: (Tables.Entry) -> Int64
    ) -> [SimulatedRow] {
        func head(_ memberCount: Int) -> SimulatedRow {
            [
                SimulatedValue(lastSeq), SimulatedValue(Int16(1)), SimulatedValue(conversation.createdAt),
                SimulatedValue(Int32(memberCount)),
            ]
        }
        if entries.isEmpty {
            return [head(conversation.memberCount) + noChange + MessageColumns.bare(nil, asOf: lastSeq)]
        }
        return entries.map { entry in
            let message = entry.message.flatMap { conversation.message($0) }
            let shown = message.flatMap { message in
                reader.map { conversation.isVisible(message.seq, to: $0) } ?? true ? message : nil
            }
            // Only the creation tells how many members there were.
            let memberCount =
                countsMembers && entry.kind == .conversationCreated
                ? conversation.memberCount(asOf: position(entry)) : conversation.memberCount
            return head(memberCount) + columns(entry) + MessageColumns.bare(shown, asOf: position(entry))
        }
    }

    private var noChange: SimulatedRow {
        [
            null(Int64.self), null(Int16.self), null(Timestamp.self), null(String.self), null(String.self),
            null(Int16.self), null(String.self), null(Int16.self), null(Int32.self), null(Bool.self), null(Int64.self),
        ]
    }

    /// Position · kind · time · actor · user · role · title · permissions · lifetime · from reading on · kept from.
    private func columns(_ entry: Tables.Entry) -> SimulatedRow {
        var user: UserID?
        var role: Int16?
        switch entry.content {
        case .added(let member, let given), .removed(let member, let given): (user, role) = (member, given)
        case .created, .message, .edited, .deleted, .tapback: break
        }
        return [
            SimulatedValue(entry.seq), SimulatedValue(Int16(entry.kind.rawValue)), SimulatedValue(entry.at),
            SimulatedValue(entry.actor), SimulatedValue(user), SimulatedValue(role), null(String.self),
            null(Int16.self), null(Int32.self), null(Bool.self), null(Int64.self),
        ]
    }
}

extension Tables.Entry {
    /// The message that the entry is about.
    var message: MessageID? {
        switch content {
        case .message(let id, _, _), .edited(let id, _), .deleted(let id), .tapback(let id, _): id
        case .created, .added, .removed: nil
        }
    }

    var isRemoval: Bool { if case .removed = content { true } else { false } }

    var kind: ChangeKind {
        switch content {
        case .created: .conversationCreated
        case .message: .messageCreated
        case .edited: .messageEdited
        case .deleted: .messageDeleted
        case .tapback(_, let kind): kind == nil ? .tapbackRemoved : .tapbackSet
        case .added: .memberAdded
        case .removed: .memberRemoved
        }
    }
}
