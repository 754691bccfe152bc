import Models
import Postgres

// The statements of receipt.
extension Database {
    /// $1 slots · $2 conversations · $3 users' slots · $4 users · $5 delivered · $6 read
    func advanceHorizons(_ arguments: Arguments) -> [SimulatedRow] {
        let conversations: [ConversationID] = arguments.array(1)
        let users: [UserID] = arguments.array(3)
        let delivered: [Int64] = arguments.array(4)
        let read: [Int64] = arguments.array(5)
        // One version and one time for all advances of a conversation.
        var moved: Set<ConversationID> = []
        let rows = conversations.indices.map { index in
            advance(conversations[index], users[index], delivered[index], read[index], &moved)
        }
        for conversation in moved { tables.conversations[conversation]!.statusVersion += 1 }
        return rows
    }

    private func advance(
        _ id: ConversationID, _ user: UserID, _ delivered: Int64, _ read: Int64, _ moved: inout Set<ConversationID>
    ) -> SimulatedRow {
        guard let conversation = tables.conversations[id] else { return standing(0) }
        guard conversation.isMember(user) else { return standing(conversation.stays[user] == nil ? 0 : 1) }
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
        let hasDelivered = new.delivered != old.delivered, hasRead = new.read != old.read
        let isSeen = hasDelivered || new.shown != old.shown
        let version = conversation.statusVersion + 1
        let at = max(clock, conversation.statusAt)
        if isSeen {
            new.version = version
            tables.conversations[id]!.statusAt = at
            moved.insert(id)
        }
        if hasDelivered || hasRead { tables.conversations[id]!.horizons[user] = new }
        return [
            SimulatedValue(Int16(2)), SimulatedValue(hasDelivered), SimulatedValue(new.shown != old.shown),
            SimulatedValue(hasRead), SimulatedValue(new.delivered), SimulatedValue(new.shown),
            SimulatedValue(new.read), SimulatedValue(version), SimulatedValue(at),
            SimulatedValue(Int32(conversation.memberCount)),
        ]
    }

    private func showsReading(_ user: UserID, _ conversation: Tables.Conversation) -> Bool {
        (conversation.readReceipts[user] ?? nil) ?? tables.users[user]?.settings?.readReceipts ?? true
    }

    private func standing(_ number: Int16) -> SimulatedRow {
        [
            SimulatedValue(number), SimulatedValue(false), SimulatedValue(false), SimulatedValue(false),
            null(Int64.self), null(Int64.self), null(Int64.self), null(Int64.self), null(Timestamp.self),
            null(Int32.self),
        ]
    }

    /// $1 slot · $2 conversation · $3 after
    func status(_ arguments: Arguments) -> [SimulatedRow] {
        let after: Int64 = arguments.value(2)
        guard let conversation = tables.conversations[arguments.value(1)], conversation.statusVersion > 0 else {
            return []
        }
        let head = [SimulatedValue(conversation.statusVersion), SimulatedValue(conversation.statusAt)]
        let moved = conversation.horizons.filter { $0.value.version > after }.sorted { $0.key < $1.key }
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

    /// $1, $2 behind this conversation and user · $3 slots
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
