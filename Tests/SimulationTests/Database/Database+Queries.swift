import Models
import Postgres

// The queries of store.
extension Database {
    /// $1 user · $2 slot
    func bootstrap(_ arguments: Arguments) -> [SimulatedRow] {
        let user: UserID = arguments.value(0)
        let head = [
            SimulatedValue(UUIDBytes(high: 1, low: 1)), SimulatedValue(clock),
            SimulatedValue(tables.users[user]?.useq ?? 0),
        ]
        var rows: [SimulatedRow] = []
        for (id, conversation) in tables.conversations.sorted(by: { $0.key.uuid < $1.key.uuid }) {
            for stay in conversation.stays[user] ?? [] {
                rows.append(
                    head + [
                        SimulatedValue(id), SimulatedValue(conversation.lastSeq), SimulatedValue(stay.from),
                        SimulatedValue(stay.through ?? 0), SimulatedValue(conversation.statusVersion),
                        SimulatedValue(Int32(conversation.memberCount)), SimulatedValue(true),
                    ])
            }
        }
        let nothing = [
            null(ConversationID.self), null(Int64.self), null(Int64.self), null(Int64.self), null(Int64.self),
            null(Int32.self), SimulatedValue(true),
        ]
        return rows.isEmpty ? [head + nothing] : rows
    }

    // MARK: Changes

    /// $1 slot · $2 conversation · $3 after · $4 through · $5 limit
    func replay(_ arguments: Arguments) -> [SimulatedRow] {
        let after: Int64 = arguments.value(2)
        let through: Int64 = arguments.value(3)
        let limit: Int64 = arguments.value(4)
        guard let conversation = tables.conversations[arguments.value(1)] else { return [] }
        let page = conversation.entries.filter { $0.seq > after && $0.seq <= through }.prefix(Int(limit))
        return feed(Array(page), of: conversation)
    }

    /// $1 slot · $2 conversation
    func latestChanges(_ arguments: Arguments) -> [SimulatedRow] {
        guard let conversation = tables.conversations[arguments.value(1)] else { return [] }
        return feed(Array(conversation.entries.suffix(2)), of: conversation)
    }

    private func feed(_ entries: [Tables.Entry], of conversation: Tables.Conversation) -> [SimulatedRow] {
        let head = [
            SimulatedValue(conversation.lastSeq), SimulatedValue(Int16(1)), SimulatedValue(conversation.createdAt),
            SimulatedValue(Int32(conversation.memberCount)),
        ]
        if entries.isEmpty { return [head + nothing(ofChange: ()) + bare(nil)] }
        return entries.map { head + change($0) + bare($0) }
    }

    private func nothing(ofChange: Void) -> SimulatedRow {
        [
            null(Int64.self), null(Int16.self), null(Timestamp.self), null(String.self), null(String.self),
            null(Int16.self), null(String.self),
        ]
    }

    private func change(_ entry: Tables.Entry) -> SimulatedRow {
        let (kind, user, role): (Int16, UserID?, Int16?) =
            switch entry.content {
            case .created: (8, nil, nil)
            case .message: (1, nil, nil)
            case .added(let user, let role): (6, user, role)
            case .removed(let user, let role): (7, user, role)
            }
        return [
            SimulatedValue(entry.seq), SimulatedValue(kind), SimulatedValue(entry.at), SimulatedValue(entry.actor),
            SimulatedValue(user), SimulatedValue(role), null(String.self),
        ]
    }

    /// `MessageRow.bareColumns`.
    private func bare(_ entry: Tables.Entry?) -> SimulatedRow {
        guard let entry, case .message(let id, let text, let sentAt) = entry.content else {
            return [
                null(Int64.self), null(MessageID.self), null(Int64.self), null(UserID.self), null(Int16.self),
                null(String.self), null(String.self), null(Timestamp.self), null(Timestamp.self),
            ] + neverChanged
        }
        return [
            SimulatedValue(entry.seq), SimulatedValue(id), SimulatedValue(entry.seq), SimulatedValue(entry.actor),
            SimulatedValue(Int16(1)), SimulatedValue(text), null(String.self), SimulatedValue(sentAt),
            SimulatedValue(entry.at),
        ] + neverChanged
    }

    /// Edited, deleted, parent's id and seq, tapbacks, their counts, event.
    private var neverChanged: SimulatedRow {
        [
            null(Timestamp.self), null(Timestamp.self), null(MessageID.self), null(Int64.self), null(String.self),
            null(String.self), null(String.self),
        ]
    }

    /// $1 slot · $2 conversation · $3 reader · $4 message
    func message(_ arguments: Arguments) -> [SimulatedRow] {
        guard let conversation = tables.conversations[arguments.value(1)],
            let seq = conversation.seqs[arguments.value(3)]
        else { return [] }
        return [bare(conversation.entries[Int(seq) - 1]) + [null(UserID.self), null(String.self)]]
    }

    /// $1 slot · $2 conversation · $3 user
    func member(_ arguments: Arguments) -> [SimulatedRow] {
        let user: UserID = arguments.value(2)
        guard let conversation = tables.conversations[arguments.value(1)], let stay = conversation.stays[user]?.last
        else { return [] }
        let horizon = conversation.horizons[user] ?? Tables.Horizon()
        return [
            [
                SimulatedValue(user), SimulatedValue(stay.role), SimulatedValue(stay.from),
                SimulatedValue(horizon.delivered), SimulatedValue(horizon.read),
            ]
        ]
    }

    // MARK: Private streams and positions

    /// $1 slot · $2 user · $3 after · $4 limit
    func privateFeed(_ arguments: Arguments) -> [SimulatedRow] {
        let user = tables.users[arguments.value(1)] ?? Tables.User()
        let after: Int64 = arguments.value(2)
        let limit: Int64 = arguments.value(3)
        let changes = user.changes.dropFirst(Int(after)).prefix(Int(limit))
        if changes.isEmpty {
            return [
                [
                    SimulatedValue(user.useq), null(Int64.self), null(Int16.self), null(Timestamp.self),
                    null(ConversationID.self), null(Int64.self), null(Int64.self), null(MessageID.self),
                    null(Bool.self), null(Bool.self), null(Bool.self), null(Int32.self),
                ]
            ]
        }
        return changes.map { change in
            let conversation = tables.conversations[change.conversation]
            return [
                SimulatedValue(user.useq), SimulatedValue(change.useq), SimulatedValue(Int16(change.kind.rawValue)),
                SimulatedValue(change.at), SimulatedValue(change.conversation), SimulatedValue(change.seq),
                SimulatedValue(conversation?.lastSeq), null(MessageID.self), null(Bool.self), null(Bool.self),
                null(Bool.self), SimulatedValue(conversation.map { Int32($0.memberCount) }),
            ]
        }
    }

    /// $1 slot · $2 conversations · $3 held
    func conversationPositions(_ arguments: Arguments) -> [SimulatedRow] {
        zip(arguments.array(1) as [ConversationID], arguments.array(2) as [Int64]).compactMap { id, held in
            guard let last = tables.conversations[id]?.lastSeq, last > held else { return nil }
            return [SimulatedValue(id), SimulatedValue(last)]
        }
    }

    /// $1 slot · $2 users · $3 held
    func userPositions(_ arguments: Arguments) -> [SimulatedRow] {
        zip(arguments.array(1) as [UserID], arguments.array(2) as [Int64]).compactMap { user, held in
            guard let last = tables.users[user]?.useq, last > held else { return nil }
            return [SimulatedValue(user), SimulatedValue(last)]
        }
    }
}
