import Models
import Postgres
import SimulationSupport

// The queries of store.
extension Database {
    /// $1 user · $2 slot
    func bootstrap(_ arguments: Arguments) -> [SimulatedRow] {
        let user: UserID = arguments.value(0)
        let showsPresence = tables.users[user]?.settings?.presence ?? true
        let head = [
            SimulatedValue(UUIDBytes(high: 1, low: 1)), SimulatedValue(clock),
            SimulatedValue(tables.users[user]?.useq ?? 0),
        ]
        let first = SimulatedValue(tables.users[user]?.first ?? 1)
        var rows: [SimulatedRow] = []
        for (id, conversation) in tables.conversations.sorted(by: { $0.key.uuid < $1.key.uuid }) {
            for stay in conversation.stays[user] ?? [] {
                rows.append(
                    head + [
                        SimulatedValue(id), SimulatedValue(conversation.lastSeq), SimulatedValue(stay.from),
                        SimulatedValue(stay.through ?? 0), SimulatedValue(conversation.statusVersion),
                        SimulatedValue(Int32(conversation.memberCount)), SimulatedValue(showsPresence), first,
                    ])
            }
        }
        let nothing = [
            null(ConversationID.self), null(Int64.self), null(Int64.self), null(Int64.self), null(Int64.self),
            null(Int32.self), SimulatedValue(showsPresence), first,
        ]
        return rows.isEmpty ? [head + nothing] : rows
    }

    /// $1 slot · $2 conversation · $3 reader · $4 user. Not simulated: the earlier state that a former reader sees.
    func member(_ arguments: Arguments) -> [SimulatedRow] {
        let reader: UserID = arguments.value(2), user: UserID = arguments.value(3)
        guard let conversation = tables.conversations[arguments.value(1)], let stay = conversation.stays[user]?.last
        else { return [] }
        let horizon = conversation.horizons[user] ?? Tables.Horizon()
        return [
            [
                SimulatedValue(user), SimulatedValue(stay.role), SimulatedValue(stay.from),
                SimulatedValue(horizon.delivered), SimulatedValue(user == reader ? horizon.read : horizon.shown),
            ]
        ]
    }

    // MARK: Private streams and positions

    /// $1 slot · $2 user · $3 after · $4 limit
    func privateFeed(_ arguments: Arguments) -> [SimulatedRow] {
        let name: UserID = arguments.value(1)
        let user = tables.users[name] ?? Tables.User()
        let after: Int64 = arguments.value(2)
        let limit: Int64 = arguments.value(3)
        let changes = user.changes.dropFirst(Int(max(after, user.first - 1))).prefix(Int(limit))
        if changes.isEmpty { return [[SimulatedValue(user.useq)] + noPrivateChange] }
        return changes.map { [SimulatedValue(user.useq)] + columns($0, of: name, user.settings) + marks($0, of: name) }
    }

    private var noPrivateChange: SimulatedRow {
        [
            null(Int64.self), null(Int16.self), null(Timestamp.self), null(ConversationID.self), null(Int64.self),
            null(Int64.self), null(MessageID.self), null(Bool.self), null(Bool.self), null(Bool.self), null(Int32.self),
            null(Timestamp.self), null(Int64.self), null(Int64.self), null(Int64.self), null(Int64.self),
            null(UserID.self), null(Bool.self), null(Bool.self), null(Int64.self), null(String.self),
            null(MessageID.self),
        ] + noScheduledMessage
    }

    /// Nobody schedules here.
    private var noScheduledMessage: SimulatedRow {
        [
            null(Timestamp.self), null(String.self), null(MessageID.self), null(String.self), null(String.self),
            null(Int16.self), null(Timestamp.self),
        ]
    }

    private func columns(
        _ change: Tables.PrivateChange, of user: UserID, _ own: Tables.UserSettings?
    ) -> SimulatedRow {
        let conversation = change.conversation.flatMap { tables.conversations[$0] }
        let isSetting = change.kind == .settingsChanged
        // Who joined is told the position and the members of now, or of when they left.
        let end = change.kind == .conversationJoined ? conversation?.end(for: user) : conversation?.lastSeq
        let memberCount = conversation.map { $0.lastSeq == end ? $0.memberCount : $0.memberCount(asOf: end!) }
        let decided: Bool? = conversation.flatMap { $0.readReceipts[user] ?? nil }
        return [
            SimulatedValue(change.useq), SimulatedValue(Int16(change.kind.rawValue)), SimulatedValue(change.at),
            SimulatedValue(change.conversation), SimulatedValue(change.seq),
            SimulatedValue(end),
            SimulatedValue(change.message), SimulatedValue(isSetting ? decided : nil),
            SimulatedValue(isSetting ? own?.readReceipts : nil), SimulatedValue(isSetting ? own?.presence : nil),
            SimulatedValue(memberCount.map { Int32($0) }),
        ]
    }

    /// What the user keeps of the conversation, if the change is about that.
    private func marks(_ change: Tables.PrivateChange, of user: UserID) -> SimulatedRow {
        let kinds: [PrivateKind] = [.muted, .pinned, .archived, .markedUnread]
        let id = kinds.contains(change.kind) ? change.conversation : nil
        let marks = id.flatMap { tables.users[user]?.marks[$0] }
        let read =
            change.kind == .markedUnread ? id.flatMap { tables.conversations[$0] }?.horizons[user]?.read ?? 0 : nil
        return [
            SimulatedValue(marks?.mutedUntil), SimulatedValue(marks?.pinOrder), SimulatedValue(marks?.archived),
            SimulatedValue(marks?.unread), SimulatedValue(read), null(UserID.self), null(Bool.self), null(Bool.self),
            null(Int64.self), null(String.self), null(MessageID.self),
        ] + noScheduledMessage
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
