import Models

/// What responses promised to users, and what users requested at all.
struct Promises {
    struct Done {
        let operation: Operation
        let user: UserID
        let isRefused: Bool
        /// The positions of the conversation before and after the decision.
        let first: Int64
        let last: Int64
    }

    struct Personal {
        /// Hidden messages, and the position up to which history is cleared.
        var hidden: Set<MessageID> = []
        var cleared: Int64 = 0
    }

    struct Place: Hashable {
        let user: UserID
        let conversation: ConversationID
    }

    struct Deletion: Hashable {
        let message: MessageID
        let user: UserID
    }

    private(set) var done: [Done] = []
    /// Messages that users asked to delete for everyone, and those for which that is promised. Deleting another user's
    /// message before it exists has no effect.
    private(set) var deletionsAsked: Set<Deletion> = []
    private(set) var deleted: Set<Deletion> = []
    private(set) var personalAsked: [Place: Personal] = [:]
    private(set) var personal: [Place: Personal] = [:]
    /// The positions up to which users reported reading while others may see it.
    private(set) var openlyRead: [Place: Int64] = [:]

    mutating func asked(_ operation: Operation, _ user: UserID) {
        if case .deleteForEveryone(let id) = operation.kind {
            deletionsAsked.insert(Deletion(message: id, user: user))
        }
        note(operation, user, in: &personalAsked)
    }

    mutating func answered(_ done: Done) {
        self.done.append(done)
        guard !done.isRefused else { return }
        if case .deleteForEveryone(let id) = done.operation.kind {
            deleted.insert(Deletion(message: id, user: done.user))
        }
        note(done.operation, done.user, in: &personal)
    }

    private func note(_ operation: Operation, _ user: UserID, in table: inout [Place: Personal]) {
        let place = Place(user: user, conversation: operation.conversation)
        switch operation.kind {
        case .hide(let id): table[place, default: Personal()].hidden.insert(id)
        case .clearHistory(let seq):
            table[place, default: Personal()].cleared = max(table[place]?.cleared ?? 0, seq)
        default: break
        }
    }

    /// Whether a user has neither hidden nor cleared a message.
    func isWhole(_ seq: Int64, _ message: MessageID, _ user: UserID, _ conversation: ConversationID) -> Bool {
        let asked = personalAsked[Place(user: user, conversation: conversation)] ?? Personal()
        return seq > asked.cleared && !asked.hidden.contains(message)
    }

    mutating func reads(_ seq: Int64, _ place: Place) { openlyRead[place] = max(openlyRead[place] ?? 0, seq) }
}

extension Promises.Done {
    /// Returns what is wrong with the response, given all changes of the conversation, or nil.
    func fault(in ledger: Ledger) -> String? {
        if isRefused {
            return operation.isKeyed && ledger.keys.contains(operation.key) ? "was refused and is done" : nil
        }
        return isKept(in: ledger) ? nil : "was acknowledged and is not done"
    }

    private func isKept(in ledger: Ledger) -> Bool {
        switch operation.kind {
        case .send(let id, let text, _): return isStored(id, text, ledger)
        case .edit(let id, let text):
            guard operation.isKeyed else { return ledger.messages[id]?.texts.contains { $0.text == text } ?? false }
            return ledger.keys.contains(operation.key)
        case .setTapback(let id, let kind): return was { ledger.messages[id]?.tapback(of: user, at: $0) == kind }
        case .removeTapback(let id): return was { ledger.messages[id]?.tapback(of: user, at: $0) == nil }
        case .add(let member): return was { ledger.isMember(member, at: $0) }
        case .remove(let member): return was { !ledger.isMember(member, at: $0) }
        case .deleteForEveryone, .hide, .clearHistory, .unlist, .mark, .showReading, .showReadingHere, .read,
            .sendBatch:
            return true
        }
    }

    private func isStored(_ id: MessageID, _ text: String, _ ledger: Ledger) -> Bool {
        ledger.messages[id].map { $0.sender == user && $0.texts[0].text == text } ?? false
    }

    /// Whether the condition held at some time between the request and its response.
    private func was(_ condition: (Int64) -> Bool) -> Bool { (first...max(first, last)).contains(where: condition) }
}
