import Models
import Postgres
import Wire

// The commands of store.
extension Database {
    /// $1 slot · $2 conversation · $3 message · $4 sender · $5 text · $6 sent
    func sendOne(_ arguments: Arguments) -> [SimulatedRow] {
        var outcomes = SendOutcomes()
        store(
            arguments.value(2), arguments.value(4), arguments.value(5), by: arguments.value(3), in: arguments.value(1),
            place: 1, conversation: 1, &outcomes)
        return [outcomes.row]
    }

    /// $1 slots · $2 conversations · … · of streams $4 conversations · $5 senders · of messages $6 streams · $7 ids ·
    /// $8 texts · $9 sent
    func send(_ arguments: Arguments) -> [SimulatedRow] {
        let conversations: [ConversationID] = arguments.array(1)
        let streamConversations: [Int32] = arguments.array(3)
        let senders: [UserID] = arguments.array(4)
        let streams: [Int32] = arguments.array(5)
        let messages: [MessageID] = arguments.array(6)
        let texts: [String] = arguments.array(7)
        let times: [Timestamp] = arguments.array(8)
        var outcomes = SendOutcomes()
        for index in messages.indices {
            let stream = Int(streams[index]) - 1
            let conversation = Int(streamConversations[stream])
            store(
                messages[index], texts[index], times[index], by: senders[stream], in: conversations[conversation - 1],
                place: Int64(index + 1), conversation: Int64(conversation), &outcomes)
        }
        return [outcomes.row]
    }

    /// What a run of messages returns. The position of a message is its conversation's base, and its place less the
    /// refused ones up to there.
    private struct SendOutcomes {
        var conversations: [Int64] = []
        var bases: [Int64] = []
        var times: [Timestamp] = []
        var memberCounts: [Int32] = []
        var refused: [Int64] = []
        var refusals: [Int16] = []

        var row: SimulatedRow {
            [
                SimulatedValue(array: conversations), SimulatedValue(array: bases), SimulatedValue(array: times),
                SimulatedValue(array: memberCounts), SimulatedValue(array: refused), SimulatedValue(array: refusals),
                SimulatedValue(array: [] as [Int64]), SimulatedValue(array: [] as [Int64]),
                SimulatedValue(array: [] as [Int64]), SimulatedValue(array: [] as [String]),
                SimulatedValue(array: [] as [String]),
            ]
        }
    }

    private func store(
        _ id: MessageID, _ text: String, _ sentAt: Timestamp, by sender: UserID, in conversation: ConversationID,
        place: Int64, conversation number: Int64, _ outcomes: inout SendOutcomes
    ) {
        if let refusal = refusal(of: id, text, by: sender, in: conversation) {
            outcomes.refused.append(place)
            outcomes.refusals.append(refusal)
            return
        }
        let memberCount = Int32(tables.conversations[conversation]!.memberCount)
        let entry = append(.message(id, text: text, sentAt: sentAt), by: sender, to: conversation)
        guard outcomes.conversations.last != number else { return }
        outcomes.conversations.append(number)
        outcomes.bases.append(entry.seq - place + Int64(outcomes.refused.count))
        outcomes.times.append(entry.at)
        outcomes.memberCounts.append(memberCount)
    }

    /// Nil: the message is to be stored.
    private func refusal(
        of id: MessageID, _ text: String, by sender: UserID, in conversation: ConversationID
    ) -> Int16? {
        guard let stored = tables.conversations[conversation], stored.stays[sender] != nil else { return 1 }
        if let seq = stored.seqs[id], world.mutation != .repetitionsAreStored {
            let entry = stored.entries[Int(seq) - 1]
            guard entry.actor == sender, case .message(_, text, _) = entry.content else { return 3 }
            return 2
        }
        return stored.isMember(sender) ? nil : 4
    }

    private func append(
        _ content: Tables.Entry.Content, by actor: UserID, to conversation: ConversationID
    ) -> Tables.Entry {
        let last = tables.conversations[conversation]!.lastSeq
        let isShared = world.mutation == .positionsAreShared && world.chance(0.05)
        let at = max(clock, tables.conversations[conversation]!.lastAt)
        let entry = Tables.Entry(seq: isShared ? last : last + 1, at: at, actor: actor, content: content)
        tables.conversations[conversation]!.lastSeq = entry.seq
        tables.conversations[conversation]!.lastAt = at
        tables.conversations[conversation]!.entries.append(entry)
        if let message = entry.message { tables.conversations[conversation]!.seqs[message] = entry.seq }
        return entry
    }

    // MARK: Members

    /// $1 slot · $2 conversation · $3 actor · $4 their slot · $5 key · $6 action · $7 subject · $8 user · … · $10 role
    func putMember(_ arguments: Arguments) -> [SimulatedRow] {
        let conversation: ConversationID = arguments.value(1)
        let user: UserID = arguments.value(7)
        let role: Int16 = arguments.value(9) ?? 1
        return write(arguments) { stored in
            guard !stored.isMember(user) else { return nil }
            let entry = append(.added(user, role: role), by: arguments.value(2), to: conversation)
            let stay = Tables.Stay(from: entry.seq, through: nil, role: role)
            tables.conversations[conversation]!.stays[user, default: []].append(stay)
            let useq = tables.users[user, default: Tables.User()].tell(
                .conversationJoined, clock, conversation, entry.seq - 1)
            if tables.users[user]!.told[conversation] == nil { tables.users[user]!.told[conversation] = 0 }
            return (entry, useq, Int64(tables.conversations[conversation]!.memberCount))
        }
    }

    func removeMember(_ arguments: Arguments) -> [SimulatedRow] {
        let conversation: ConversationID = arguments.value(1)
        let user: UserID = arguments.value(7)
        return write(arguments) { stored in
            guard stored.isMember(user) else { return nil }
            let role = stored.stays[user]!.last!.role
            let entry = append(.removed(user, role: role), by: arguments.value(2), to: conversation)
            let index = stored.stays[user]!.count - 1
            tables.conversations[conversation]!.stays[user]![index].through = entry.seq
            let useq = tables.users[user, default: Tables.User()].tell(
                .conversationLeft, clock, conversation, entry.seq)
            return (entry, useq, nil)
        }
    }

    /// The frame of all writes; `body` returns nil when there is nothing to do.
    private func write(
        _ arguments: Arguments, _ body: (Tables.Conversation) -> (entry: Tables.Entry, useq: Int64, told: Int64?)?
    ) -> [SimulatedRow] {
        let conversation: ConversationID = arguments.value(1)
        let actor: UserID = arguments.value(2)
        let key: UUIDBytes = arguments.value(4)
        let outcome = Tables.OutcomeKey(user: actor, key: key)
        if let prior = tables.outcomes[outcome] { return [verdict(prior.problem, isRepeat: true, nil)] }
        guard let stored = tables.conversations[conversation], stored.isMember(actor) else {
            return [verdict(Int16(Problem.Code.forbidden.rawValue), isRepeat: false, nil)]
        }
        tables.outcomes[outcome] = Tables.Outcome(action: arguments.value(5), problem: 0)
        return [verdict(0, isRepeat: false, body(stored))]
    }

    private func verdict(
        _ problem: Int16, isRepeat: Bool, _ change: (entry: Tables.Entry, useq: Int64, told: Int64?)?
    ) -> SimulatedRow {
        [
            SimulatedValue(problem), SimulatedValue(isRepeat), SimulatedValue(change != nil),
            SimulatedValue(change?.entry.seq), SimulatedValue(change?.entry.at), SimulatedValue(Int64(1)),
            SimulatedValue(change?.useq), SimulatedValue(change?.told),
        ]
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
