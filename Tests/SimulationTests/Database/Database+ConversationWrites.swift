import Models
import Postgres
import SimulationSupport
import Wire

// Members, clearing and settings: `PutMember`, `RemoveMember`, `AcceptRequest`, `ClearHistory`, `UnlistConversation`,
// `PutConversationSettings`, `PutSettings`, `MergedReads`.
extension Database {
    /// $8 user · $9 their slot · $10 role · $11 limit of the user's conversations, which no user reaches here
    func putMember(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { .init(positions: 1, detail: $0.map { Int64($0.memberCount) + 1 }) }) { writing in
            let user: UserID = arguments.value(7)
            let role: Int16? = arguments.value(9)
            guard !writing.stored.isMember(user) else { return .void }  // Roles never change here.
            guard role ?? 1 == 1 || isOwner(writing) else { return .refused(.forbidden) }
            let entry = append(.added(user, role: role ?? 1), writing)
            show(entry, #"{"kind":"member.added","userId":"\#(user)"}"#, writing)
            let stay = Tables.Stay(from: entry.seq, through: nil, role: role ?? 1)
            tables.conversations[writing.conversation]!.stays[user, default: []].append(stay)
            tables.conversations[writing.conversation]!.removedBy.remove(user)
            let effect = tell(user, .conversationJoined, writing.conversation, entry.seq - 1)
            if tables.users[user]!.told[writing.conversation] == nil {
                tables.users[user]!.told[writing.conversation] = 0
            }
            return .due(effect)
        }
    }

    /// $8 user · $9 their slot. The owners never leave in the simulation, so nobody inherits ownership.
    func removeMember(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { _ in .init(positions: 1) }) { writing in
            let user: UserID = arguments.value(7)
            guard user == writing.actor || isOwner(writing) else { return .refused(.forbidden) }
            guard writing.stored.stays[user] != nil else { return .refused(.notFound) }
            guard writing.stored.isMember(user), let stay = writing.stored.stays[user]?.last else { return .void }
            let entry = append(.removed(user, role: stay.role), writing)
            show(entry, #"{"kind":"member.removed","userId":"\#(user)"}"#, writing)
            let last = writing.stored.stays[user]!.count - 1
            tables.conversations[writing.conversation]!.stays[user]![last].through = entry.seq
            return .due(tell(user, .conversationLeft, writing.conversation, entry.seq))
        }
    }

    /// Removes a conversation from a former member's list.
    func unlist(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, byFormer: true, reporting: { _ in .init() }) { writing in
            let isNew = tables.conversations[writing.conversation]!.removedBy.insert(writing.actor).inserted
            guard isNew else { return .void }
            let muted = tables.users[writing.actor]!.marks[writing.conversation]?.mutedUntil
            tables.users[writing.actor]!.marks[writing.conversation] = Tables.Marks(mutedUntil: muted)
            return .due(tell(writing.actor, .conversationRemoved, writing.conversation))
        }
    }

    /// Nobody is asked here: who is no member stays none.
    func acceptRequest(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { .init(positions: nil, detail: $0.map { Int64($0.memberCount) }) }) { _ in .void }
    }

    private func isOwner(_ writing: Writing) -> Bool {
        writing.stored.stays[writing.actor]?.last.map { $0.through == nil && $0.role == 2 } ?? false
    }

    /// Adds the system message that shows a change of members.
    private func show(_ entry: Tables.Entry, _ event: String, _ writing: Writing) {
        insert(
            Tables.Message(
                seq: entry.seq, id: MessageID(newID()),
                sender: writing.actor, kind: .system, parent: nil, parentSeq: nil, sentAt: entry.at,
                createdAt: entry.at, changed: entry.seq, event: event), into: writing.conversation)
    }

    /// A random identifier that the database chooses.
    private func newID() -> UUIDBytes {
        let id = UUIDBytes(high: world.random.next(), low: world.random.next())
        transcript?.chosen = id
        return id
    }

    /// $8 through (0: the latest position)
    func clearHistory(_ arguments: Arguments) -> [SimulatedRow] {
        let asked: Int64 = arguments.value(7)
        func through(_ conversation: Tables.Conversation) -> Int64 {
            min(asked == 0 ? conversation.lastSeq : asked, conversation.lastSeq)
        }
        return write(arguments, reporting: { .init(detail: $0.map(through)) }) { writing in
            let through = through(writing.stored)
            let stays = writing.stored.stays[writing.actor]!
            guard stays.map(\.cleared).max()! < through else { return .void }
            for index in stays.indices {
                let cleared = max(stays[index].cleared, through)
                tables.conversations[writing.conversation]!.stays[writing.actor]![index].cleared = cleared
            }
            return .due(tell(writing.actor, .historyCleared, writing.conversation, through))
        }
    }

    // MARK: Marks

    /// $8 kind · $9 until · $10 number. Nobody pins as many as there may be here.
    func mark(_ arguments: Arguments) -> [SimulatedRow] {
        let user: UserID = arguments.value(2)
        let kind = PrivateKind(rawValue: UInt8(arguments.value(7) as Int16))!
        func read(_ conversation: Tables.Conversation) -> Int64 { conversation.horizons[user]?.read ?? 0 }
        func marks(_ id: ConversationID, _ conversation: Tables.Conversation) -> Tables.Marks {
            var marks = tables.users[user]?.marks[id] ?? Tables.Marks()
            let number: Int64? = arguments.value(9)
            switch kind {
            case .muted:
                let isMuted = marks.mutedUntil.map { $0 > clock } ?? false
                let end = conversation.end(for: user)
                if !isMuted, conversation.messages.contains(where: { $0.seq > marks.archived ?? .max && $0.seq <= end })
                {
                    marks.archived = nil
                }
                marks.mutedUntil = arguments.value(8)
            case .pinned: marks.pinOrder = number
            case .archived: marks.archived = number.map { min($0, conversation.end(for: user)) }
            default: marks.unread = number.map { _ in read(conversation) }
            }
            return marks
        }
        let id: ConversationID = arguments.value(1)
        func detail(_ conversation: Tables.Conversation) -> Int64? {
            guard tables.users[user]?.told[id] != nil else { return nil }
            return kind == .markedUnread ? read(conversation) : marks(id, conversation).archived ?? 0
        }
        return write(arguments, byFormer: nil, reporting: { .init(detail: $0.flatMap(detail)) }) { writing in
            let isUnlisted = writing.stored.removedBy.contains(user) && !writing.stored.isMember(user)
            guard !isUnlisted else { return .refused(.conflict) }
            let new = marks(id, writing.stored)
            guard new != tables.users[user]!.marks[id] ?? Tables.Marks() else { return .void }
            tables.users[user]!.marks[id] = new
            return .due(tell(user, kind, id))
        }
    }

    // MARK: Settings

    /// $8 whether anything is set · $9 read receipts (NULL: inherited)
    func putConversationSettings(_ arguments: Arguments) -> [SimulatedRow] {
        let isSet: Bool = arguments.value(7)
        let receipts: Bool? = arguments.value(8)
        let inForce = receipts ?? tables.users[arguments.value(2)]?.settings?.readReceipts ?? true
        let detail: Int64 = (inForce ? 1 : 0) + (receipts == nil ? 2 : 0)
        return write(arguments, reporting: { _ in .init(detail: detail) }) { writing in
            // Without a row, inheriting changes nothing.
            guard isSet, writing.stored.readReceipts[writing.actor] ?? nil != receipts else { return .void }
            tables.conversations[writing.conversation]!.readReceipts.updateValue(receipts, forKey: writing.actor)
            return .due(tell(writing.actor, .settingsChanged, writing.conversation))
        }
    }

    /// $1 user · $2 their slot · $3 name · $4 read receipts · $5 presence (NULL: unchanged)
    func putSettings(_ arguments: Arguments) -> [SimulatedRow] {
        let user: UserID = arguments.value(0)
        let name = WriteName(arguments.optionals(2))
        let outcome = Tables.Outcome(
            action: Int16(PutSettings.number), conversation: nil, subject: nil, problem: 0)
        var row = [
            SimulatedValue(0 as Int16), null(Bool.self), null(Bool.self), null(Int64.self), null(Timestamp.self),
        ]
        if let prior = priorProblem(user, name, outcome) {
            row[0] = SimulatedValue(prior)
            return [row]
        }
        keep(outcome, user, name)
        let old = tables.users[user]?.settings ?? Tables.UserSettings()
        let new = Tables.UserSettings(
            readReceipts: arguments.value(3) ?? old.readReceipts, presence: arguments.value(4) ?? old.presence)
        guard new != old else { return [row] }
        tables.users[user, default: Tables.User()].settings = new
        let useq = tables.users[user]!.tell(.settingsChanged, clock, nil)
        return [
            [
                row[0], SimulatedValue(new.readReceipts), SimulatedValue(new.presence), SimulatedValue(useq),
                SimulatedValue(clock),
            ]
        ]
    }

    /// $1 user · $2 slot
    func settings(_ arguments: Arguments) -> [SimulatedRow] {
        let settings = tables.users[arguments.value(0)]?.settings ?? Tables.UserSettings()
        return [[SimulatedValue(settings.readReceipts), SimulatedValue(settings.presence)]]
    }

    /// $1 slot · $2 conversation · $3 user · $4 their slot
    func conversationSettings(_ arguments: Arguments) -> [SimulatedRow] {
        let user: UserID = arguments.value(2)
        guard let conversation = tables.conversations[arguments.value(1)], conversation.stays[user] != nil else {
            return []
        }
        let decided = conversation.readReceipts[user] ?? nil
        let inForce = decided ?? tables.users[user]?.settings?.readReceipts ?? true
        return [[SimulatedValue(inForce), SimulatedValue(decided == nil)]]
    }

    // MARK: Reading

    /// $1 slots · $2 users · $3 conversations · $4 positions
    func tellRead(_ arguments: Arguments) -> [SimulatedRow] {
        let users: [UserID] = arguments.array(1)
        let conversations: [ConversationID] = arguments.array(2)
        let seqs: [Int64] = arguments.array(3)
        return users.indices.compactMap { index in
            let user = users[index], conversation = conversations[index]
            guard let told = tables.users[user]?.told[conversation], told < seqs[index] else { return nil }
            tables.users[user]!.told[conversation] = seqs[index]
            let useq = tables.users[user]!.tell(.readMoved, clock, conversation, seqs[index])
            return [SimulatedValue(Int64(index + 1)), SimulatedValue(useq), SimulatedValue(clock)]
        }
    }
}
