import Models
import Postgres
import SimulationSupport

// The statements of receipt.
extension Database {
    /// $1 slots · $2 conversations · per signal: $3 conversation, $4 user, $5 delivered, $6 read
    func advanceHorizons(_ arguments: Arguments) -> [SimulatedRow] {
        let conversations: [ConversationID] = arguments.array(1)
        let conversationOfSignal: [Int32] = arguments.array(2)
        let users: [UserID] = arguments.array(3)
        let delivered: [Int64] = arguments.array(4)
        let read: [Int64] = arguments.array(5)
        // All advances of a conversation share one version and one time.
        let versions = conversations.map {
            tables.conversations[$0].map { $0.hasPosition ? $0.statusVersion + 1 : 0 } ?? 0
        }
        let times = conversations.map { max(clock, tables.conversations[$0]?.statusAt ?? clock) }
        let memberCounts = conversations.map { Int32(tables.conversations[$0]?.memberCount ?? 0) }
        let advances = users.indices.map { index in
            let place = Int(conversationOfSignal[index]) - 1
            return advance(
                conversations[place], users[index], delivered[index], read[index], versions[place], times[place])
        }
        return [
            [
                SimulatedValue(array: versions), SimulatedValue(array: times), SimulatedValue(array: memberCounts),
                SimulatedValue(array: users.indices.map { Int32($0 + 1) }),
                SimulatedValue(array: advances.map(\.outcome)),
                SimulatedValue(array: advances.map(\.reached.delivered)),
                SimulatedValue(array: advances.map(\.reached.read)),
                SimulatedValue(array: advances.map(\.reached.shown)),
            ]
        ]
    }

    private func advance(
        _ id: ConversationID, _ user: UserID, _ delivered: Int64, _ read: Int64, _ version: Int64, _ at: Timestamp
    ) -> (outcome: Int16, reached: Tables.Horizon) {
        // Without a conversation everything ends at 0.
        guard let conversation = tables.conversations[id] else { return (0, Tables.Horizon()) }
        let old = conversation.horizons[user] ?? Tables.Horizon()
        let isShown = world.mutation == .settingsAreIgnored || showsReading(user, conversation)
        var new = old
        new.delivered = max(old.delivered, min(max(delivered, read), conversation.lastSeq))
        new.read = max(old.read, min(read, conversation.lastSeq))
        if world.mutation == .horizonsAreSet {
            new.delivered = min(max(delivered, read), conversation.lastSeq)
            new.read = min(read, conversation.lastSeq)
        }
        if new.read != old.read, isShown { new.shown = new.read }
        guard conversation.isMember(user) else { return (conversation.stays[user] == nil ? 0 : 1, new) }
        let hasDelivered = new.delivered != old.delivered, hasRead = new.read != old.read
        let hasShown = new.shown != old.shown
        if hasDelivered || hasShown {
            new.version = version
            tables.conversations[id]!.statusAt = at
            tables.conversations[id]!.statusVersion = version
        }
        if hasDelivered || hasRead { tables.conversations[id]!.horizons[user] = new }
        return (2 + (hasDelivered ? 4 : 0) + (hasShown ? 8 : 0) + (hasRead ? 16 : 0), new)
    }

    private func showsReading(_ user: UserID, _ conversation: Tables.Conversation) -> Bool {
        (conversation.readReceipts[user] ?? nil) ?? tables.users[user]?.settings?.readReceipts ?? true
    }

    /// $1 slot · $2 conversation · $3 after
    func status(_ arguments: Arguments) -> [SimulatedRow] {
        let after: Int64 = arguments.value(2)
        guard let conversation = tables.conversations[arguments.value(1)], conversation.statusVersion > 0 else {
            return []
        }
        let head = [
            SimulatedValue(conversation.statusVersion), SimulatedValue(conversation.statusAt),
            SimulatedValue(conversation.memberCount <= ContractLimits.namedMembers),
        ]
        let moved = conversation.horizons
            .filter { $0.value.version > after && conversation.isMember($0.key) }.sorted { $0.key < $1.key }
        if moved.isEmpty { return [head + [null(UserID.self), null(Int64.self), null(Int64.self)]] }
        return moved.map { user, horizon in
            head + [SimulatedValue(user), SimulatedValue(horizon.delivered), SimulatedValue(horizon.shown)]
        }
    }

    /// $1 slot · $2 conversations · $3 held
    func statusPositions(_ arguments: Arguments) -> [SimulatedRow] {
        zip(arguments.array(1) as [ConversationID], arguments.array(2) as [Int64]).compactMap { id, held in
            guard let version = tables.conversations[id]?.statusVersion, version > held else { return nil }
            return [SimulatedValue(id), SimulatedValue(version)]
        }
    }

    /// $1 slot · $2 conversation · after $3 user
    func untoldOfOne(_ arguments: Arguments) -> [SimulatedRow] {
        let id: ConversationID = arguments.value(1), after: String = arguments.value(2)
        let horizons = tables.conversations[id]?.horizons.filter { $0.key.name > after } ?? [:]
        return horizons.sorted { $0.key < $1.key }.map { user, horizon in
            let isUntold = horizon.read > tables.users[user]?.told[id] ?? .max
            return [SimulatedValue(user), SimulatedValue(horizon.read), SimulatedValue(isUntold)]
        }
    }

    /// after $1 conversation, $2 user · $3 slots
    func dueRunTrims(_ arguments: Arguments) -> [SimulatedRow] {
        let slots = Set(arguments.array(2) as [Slot])
        let conversations = tables.conversations.filter { slots.contains($0.key.slot) }
        return conversations.sorted(by: { $0.key.uuid < $1.key.uuid }).flatMap { id, conversation in
            // All messages stay.
            conversation.horizons.keys.sorted().map { [SimulatedValue(id), SimulatedValue($0), null(Int64.self)] }
        }
    }

    /// after $1 conversation, $2 user · $3 slots
    func untoldReads(_ arguments: Arguments) -> [SimulatedRow] {
        let slots = Set(arguments.array(2) as [Slot])
        var rows: [SimulatedRow] = []
        for (id, conversation) in tables.conversations.sorted(by: { $0.key.uuid < $1.key.uuid })
        where slots.contains(id.slot) {
            for (user, horizon) in conversation.horizons.sorted(by: { $0.key < $1.key }) {
                let isUntold = horizon.read > tables.users[user]?.told[id] ?? .max
                rows.append(
                    [SimulatedValue(id), SimulatedValue(user), SimulatedValue(horizon.read), SimulatedValue(isUntold)])
            }
        }
        return rows
    }
}
