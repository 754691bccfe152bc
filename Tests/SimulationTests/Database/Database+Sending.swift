import Models
import Postgres
import SimulationSupport
import Wire

// Sending messages: `SendStatement`, `SendOneStatement`.
extension Database {
    /// A message of a batch.
    private struct Sent {
        let id: MessageID
        let text: String
        let sentAt: Timestamp
        let sender: UserID
        let conversation: ConversationID
        /// The index of the conversation in the batch, from 1.
        let number: Int64
        let parent: MessageID?
    }

    /// $1 slot · $2 conversation · $3 message · $4 sender · $5 text · $6 sent. Returns the outcome of the message even if
    /// it is stored, and zeros where it is not.
    func sendOne(_ arguments: Arguments) -> [SimulatedRow] {
        let message = Sent(
            id: arguments.value(2), text: arguments.value(4), sentAt: arguments.value(5),
            sender: arguments.value(3), conversation: arguments.value(1), number: 1, parent: nil)
        var outcomes = store([message])
        if outcomes.conversations.isEmpty {
            outcomes.bases = [0]
            outcomes.times = [Timestamp(milliseconds: 0)]
            outcomes.memberCounts = [0]
        } else {
            outcomes.refusals = [0]
        }
        outcomes.conversations = [1]
        outcomes.deleted = isDeletedEarly(message) ? [1] : []
        return [outcomes.row]
    }

    /// $1 slots · $2 conversations · … · of streams $4 conversations, $5 senders · of messages $6 streams, $7 ids, $8
    /// texts, $9 sent · of replies $10 indexes, $11 parents
    func send(_ arguments: Arguments) -> [SimulatedRow] {
        let conversations: [ConversationID] = arguments.array(1)
        let streamConversations: [Int32] = arguments.array(3)
        let senders: [UserID] = arguments.array(4)
        let streams: [Int32] = arguments.array(5)
        let messages: [MessageID] = arguments.array(6)
        let texts: [String] = arguments.array(7)
        let times: [Timestamp] = arguments.array(8)
        let parents = Dictionary(
            uniqueKeysWithValues: zip(arguments.array(9) as [Int64], arguments.array(10) as [MessageID]))
        let outcomes = store(
            messages.indices.map { index in
                let stream = Int(streams[index]) - 1
                let number = streamConversations[stream]
                return Sent(
                    id: messages[index], text: texts[index], sentAt: times[index], sender: senders[stream],
                    conversation: conversations[Int(number) - 1], number: Int64(number),
                    parent: parents[Int64(index + 1)])
            })
        return [outcomes.row]
    }

    /// The result of a batch. A message's position is the base of its conversation plus its index, less the refused
    /// messages up to that index.
    private struct Outcomes {
        var conversations: [Int64] = []
        var bases: [Int64] = []
        var times: [Timestamp] = []
        var memberCounts: [Int32] = []
        var refused: [Int64] = []
        var refusals: [Int16] = []
        var deleted: [Int64] = []
        /// The indexes of replies and the data of their parents. Without the text if the sender has hidden the parent.
        var replies: [Int64] = []
        var parents: [Tables.Message?] = []
        var parentTexts: [String] = []

        var row: SimulatedRow {
            [
                SimulatedValue(array: conversations), SimulatedValue(array: bases), SimulatedValue(array: times),
                SimulatedValue(array: memberCounts), SimulatedValue(array: refused), SimulatedValue(array: refusals),
                SimulatedValue(array: deleted), SimulatedValue(array: replies),
                SimulatedValue(array: parents.map { $0?.seq ?? 0 }),
                SimulatedValue(array: parents.map { $0?.sender.name ?? "" }),
                SimulatedValue(array: parentTexts),
            ]
        }
    }

    /// Checks all messages against the state before the batch, then stores them.
    private func store(_ run: [Sent]) -> Outcomes {
        var outcomes = Outcomes()
        let parents = run.map(parent)
        let refusals = run.indices.map { refusal(of: run[$0], parents[$0]) }
        for (index, message) in run.enumerated() {
            let place = Int64(index + 1)
            if message.parent != nil {
                outcomes.replies.append(place)
                outcomes.parents.append(parents[index])
                let isShown = parents[index].map {
                    tables.conversations[message.conversation]!.shows($0, to: message.sender)
                }
                outcomes.parentTexts.append(isShown == true ? parents[index]?.text ?? "" : "")
            }
            if let refusal = refusals[index] {
                outcomes.refused.append(place)
                outcomes.refusals.append(refusal)
            } else {
                store(message, parents[index], place, &outcomes)
            }
        }
        return outcomes
    }

    private func isDeletedEarly(_ message: Sent) -> Bool {
        let early = Tables.EarlyDeletion(message: message.id, user: message.sender)
        return tables.conversations[message.conversation]?.earlyDeletions.contains(early) ?? false
    }

    /// Returns the parent, or nil if there is none that this sender may reply to.
    private func parent(of message: Sent) -> Tables.Message? {
        guard let id = message.parent, let stored = tables.conversations[message.conversation],
            let parent = stored.message(id), parent.kind != .system,
            parent.deletedAt == nil || world.mutation == .deletedMessagesAreReplyable,
            stored.isVisible(parent.seq, to: message.sender)
        else { return nil }
        return parent
    }

    /// Returns nil if the message is to be stored.
    private func refusal(of message: Sent, _ parent: Tables.Message?) -> Int16? {
        guard let stored = tables.conversations[message.conversation], stored.stays[message.sender] != nil else {
            return 1
        }
        if let known = stored.message(message.id), world.mutation != .repetitionsAreStored {
            guard known.sender == message.sender else { return 3 }
            let isAsItWas = known.editedAt == nil && known.deletedAt == nil
            return isAsItWas && (known.text != message.text || known.parent != message.parent) ? 3 : 2
        }
        guard stored.isMember(message.sender) else { return 4 }
        return message.parent != nil && parent == nil ? 5 : nil
    }

    private func store(_ message: Sent, _ parent: Tables.Message?, _ place: Int64, _ outcomes: inout Outcomes) {
        let conversation = message.conversation
        let memberCount = Int32(tables.conversations[conversation]!.memberCount)
        let entry = append(
            .message(message.id, text: message.text, replyTo: message.parent), by: message.sender, to: conversation)
        let isDeleted = isDeletedEarly(message)
        if isDeleted { outcomes.deleted.append(place) }
        insert(
            Tables.Message(
                seq: entry.seq, id: message.id, sender: message.sender, kind: message.parent == nil ? .text : .reply,
                text: isDeleted ? nil : message.text, parent: message.parent, parentSeq: parent?.seq,
                sentAt: message.sentAt, createdAt: entry.at, deletedAt: isDeleted ? entry.at : nil, changed: entry.seq),
            into: conversation)
        guard outcomes.conversations.last != message.number else { return }
        outcomes.conversations.append(message.number)
        outcomes.bases.append(entry.seq - place + Int64(outcomes.refused.count))
        outcomes.times.append(entry.at)
        outcomes.memberCounts.append(memberCount)
    }

    // MARK: Common to all writes

    /// Takes the next position of a conversation.
    func append(
        _ content: Tables.Entry.Content, by actor: UserID, to conversation: ConversationID, key: UUIDBytes? = nil
    ) -> Tables.Entry {
        let last = tables.conversations[conversation]!.lastSeq
        let isShared = world.mutation == .positionsAreShared && world.chance(0.05)
        let at = max(clock, tables.conversations[conversation]!.lastAt)
        let entry = Tables.Entry(
            seq: isShared ? last : last + 1, at: at, actor: actor, content: content, key: key)
        tables.conversations[conversation]!.lastSeq = entry.seq
        tables.conversations[conversation]!.lastAt = at
        tables.conversations[conversation]!.entries.append(entry)
        return entry
    }

    func insert(_ message: Tables.Message, into conversation: ConversationID) {
        let place = tables.conversations[conversation]!.messages.count
        tables.conversations[conversation]!.messages.append(message)
        tables.conversations[conversation]!.places[message.id] = place
    }
}
