import Models
import Reactor
import Wire

/// The actions of the users in a run.
@Reactor
final class Work {
    private let system: System
    private var world: World { system.world }
    private var sent: [(conversation: ConversationID, message: MessageID, sender: Int)] = []
    private static let tapbacks = ["like", "love", "laugh"]

    init(_ system: System) { self.system = system }

    func doSomething(_ number: Int) {
        let conversation = system.conversations[world.pick(0...1)]
        switch world.pick(0...26) {
        case 0: perform(.add(system.users[world.pick(2...3)]), conversation, by: 0)
        case 1: perform(.remove(system.users[world.pick(2...3)]), conversation, by: 0)
        case 2:
            let leaver = world.pick(2...3)
            perform(.remove(system.users[leaver]), conversation, by: leaver)
        case 3...4: change { .edit($0, text: "edit \(number)") }
        case 5...6: change { .deleteForEveryone($0) }
        case 7: changeAsAnyone { .hide($0) }
        case 8...10: changeAsAnyone { .setTapback($0, Self.tapbacks[world.pick(0...2)]) }
        case 11: changeAsAnyone { .removeTapback($0) }
        case 12: decide(conversation)
        case 13:
            let seq = Int64(world.pick(1...max(1, Int(system.lastSeq(conversation)))))
            perform(world.chance(0.5) ? .clearHistory(through: seq) : .read(seq), conversation, by: world.pick(0...3))
        case 14: system.clients[world.pick(0...3)].readHistory(conversation)
        case 15: system.clients[world.pick(0...3)].readChanges(conversation)
        case 16: reply(number)
        case 17: sendBatch(number, conversation)
        case 18: perform(.unlist, conversation, by: world.pick(2...3))
        case 19...20: perform(.mark(mark(in: conversation)), conversation, by: world.pick(0...3))
        default: send(number, conversation)
        }
    }

    /// Lets every user read all that they may see, and some of the details.
    func readEverything() {
        for client in system.clients {
            for conversation in system.conversations {
                client.readHistory(conversation)
                client.readChanges(conversation)
            }
        }
        for (conversation, message, _) in sent.suffix(4) {
            guard let known = system.ledger(conversation)?.messages[message], known.deleted == nil else { continue }
            // Alice is always a member.
            if system.promises.isWhole(known.seq, message, system.users[0], conversation) {
                system.clients[0].readDetails(message, in: conversation)
            }
        }
    }

    // MARK: Messages

    private func send(_ number: Int, _ conversation: ConversationID) {
        let sender = world.pick(0...3)
        let id = newMessage(number, conversation, sender)
        perform(.send(id, text: "message \(number)", replyTo: nil), conversation, by: sender)
        // Possibly before the server has the message.
        if world.chance(0.1) { perform(.deleteForEveryone(id), conversation, by: sender) }
    }

    private func reply(_ number: Int) {
        guard let parent = anyMessage else { return }
        let sender = world.pick(0...3)
        let id = newMessage(number, parent.conversation, sender)
        perform(.send(id, text: "reply \(number)", replyTo: parent.message), parent.conversation, by: sender)
    }

    private func sendBatch(_ number: Int, _ conversation: ConversationID) {
        let sender = world.pick(0...3)
        let messages = (0..<world.pick(1...4)).map { place in
            (id: newMessage(number, conversation, sender), text: "batch \(number) \(place)")
        }
        perform(.sendBatch(messages), conversation, by: sender)
    }

    private func newMessage(_ number: Int, _ conversation: ConversationID, _ sender: Int) -> MessageID {
        let id = MessageID(newID(number))
        sent.append((conversation, id, sender))
        return id
    }

    private func newID(_ number: Int) -> UUIDBytes {
        UUIDBytes(high: 0x0190_0000_0001_7000 + UInt64(number) << 16, low: world.random.next() >> 2 | 1 << 63)
    }

    private var anyMessage: (conversation: ConversationID, message: MessageID, sender: Int)? {
        sent.isEmpty ? nil : sent[world.pick(max(0, sent.count - 6)...sent.count - 1)]
    }

    /// Changes a message, mostly by its sender, the only one allowed to.
    private func change(_ kind: (MessageID) -> Operation.Kind) {
        guard let target = anyMessage else { return }
        perform(kind(target.message), target.conversation, by: world.chance(0.1) ? world.pick(0...3) : target.sender)
    }

    private func changeAsAnyone(_ kind: (MessageID) -> Operation.Kind) {
        guard let target = anyMessage else { return }
        perform(kind(target.message), target.conversation, by: world.pick(0...3))
    }

    private func mark(in conversation: ConversationID) -> Mark {
        let sets = world.chance(0.7)
        return switch world.pick(0...3) {
        case 0: .muted(until: sets ? [.forever, Timestamp(milliseconds: 1_700_000_001_000)][world.pick(0...1)] : nil)
        case 1: .pinned(order: sets ? Int64(world.pick(0...3)) : nil)
        case 2: .archived(through: sets ? Int64(world.pick(1...max(1, Int(system.lastSeq(conversation))))) : nil)
        default: .unread(sets)
        }
    }

    // MARK: Settings

    private func decide(_ conversation: ConversationID) {
        let user = world.pick(0...3)
        switch world.pick(0...3) {
        case 0: perform(.showReading(world.chance(0.3)), conversation, by: user)
        case 1: perform(.showReadingHere(nil), conversation, by: user)
        default: perform(.showReadingHere(world.chance(0.3)), conversation, by: user)
        }
    }

    private func perform(_ kind: Operation.Kind, _ conversation: ConversationID, by user: Int) {
        let operation = Operation(
            conversation: conversation, key: newID(0), kind: kind, leavesKeyAway: world.chance(0.3))
        system.clients[user].perform(operation)
    }
}
