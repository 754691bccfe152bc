import Models

/// The expected state of a conversation, derived only from the log of its changes, without tables, statements or
/// services. What clients receive is compared with it.
struct Ledger {
    struct Message {
        let seq: Int64
        let sender: UserID
        let parent: MessageID?
        fileprivate(set) var texts: [(seq: Int64, text: String)]
        /// A nil kind is a removal.
        fileprivate(set) var tapbacks: [(seq: Int64, user: UserID, kind: String?)] = []
        fileprivate(set) var deleted: Int64?
        /// The positions of all changes to the message.
        fileprivate(set) var changes: [Int64]

        func text(at seq: Int64) -> String { (texts.last { $0.seq <= seq } ?? texts[0]).text }

        func tapback(of user: UserID, at seq: Int64) -> String? {
            isDeleted(at: seq) ? nil : tapbacks.last { $0.seq <= seq && $0.user == user }?.kind
        }

        func counts(at seq: Int64) -> [String: Int64] {
            guard !isDeleted(at: seq) else { return [:] }
            var kinds: [UserID: String] = [:]
            for tapback in tapbacks where tapback.seq <= seq { kinds[tapback.user] = tapback.kind }
            return kinds.values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        }

        func isDeleted(at seq: Int64) -> Bool { deleted.map { $0 <= seq } ?? false }
        func lastChange(at seq: Int64) -> Int64 { changes.last { $0 <= seq } ?? self.seq }
    }

    private(set) var messages: [MessageID: Message] = [:]
    private(set) var stays: [UserID: [(from: Int64, through: Int64?)]]
    /// Positions where history shows that a member joined or left.
    private(set) var events: [Int64] = []
    /// The keys of the writes that took a position.
    private(set) var keys: Set<UUIDBytes> = []
    private(set) var lastSeq: Int64 = 0
    /// The first change that must not have happened.
    private(set) var violation: String?

    init(members: [UserID]) {
        stays = Dictionary(uniqueKeysWithValues: members.map { ($0, [(from: 1, through: nil)]) })
    }

    /// Returns the message if this user may see it.
    func message(_ id: MessageID?, for user: UserID) -> Message? {
        id.flatMap { messages[$0] }.flatMap { isVisible($0.seq, to: user) ? $0 : nil }
    }

    func isVisible(_ seq: Int64, to user: UserID) -> Bool { endOfStay(around: seq, of: user) != nil }

    func isMember(_ user: UserID, at seq: Int64) -> Bool {
        stays[user]?.contains { $0.from <= seq && seq < $0.through ?? .max } ?? false
    }

    /// Returns the last position visible to a user in the stay that covers `seq`, or nil if no stay does.
    func endOfStay(around seq: Int64, of user: UserID) -> Int64? {
        stays[user]?.first { $0.from <= seq && seq <= $0.through ?? .max }.map { $0.through ?? lastSeq }
    }

    // MARK: Reading the log

    mutating func read(_ entry: Tables.Entry) {
        if case .created = entry.content {
        } else if !isMember(entry.actor, at: lastSeq) {
            violated("\(entry.actor) does something at \(entry.seq) without being a member")
        }
        if let key = entry.key, !keys.insert(key).inserted { violated("the write at \(entry.seq) is done twice") }
        lastSeq = max(lastSeq, entry.seq)
        switch entry.content {
        case .created: break
        case .message(let id, let text, let parent): create(id, text, entry, parent)
        case .edited(let id, let text): edit(id, text, entry)
        case .deleted(let id): delete(id, entry)
        case .tapback(let id, let kind): tapback(id, kind, entry)
        case .added(let user, _):
            stays[user, default: []].append((from: entry.seq, through: nil))
            events.append(entry.seq)
        case .removed(let user, _):
            if let last = stays[user]?.indices.last { stays[user]![last].through = entry.seq }
            events.append(entry.seq)
        }
    }

    private mutating func violated(_ what: String) { violation = violation ?? what }

    private mutating func create(_ id: MessageID, _ text: String, _ entry: Tables.Entry, _ parent: MessageID?) {
        if messages[id] != nil { violated("a message is created twice") }
        if let parent {
            let replied = message(parent, for: entry.actor)
            if replied?.isDeleted(at: entry.seq) ?? true { violated("a reply at \(entry.seq) has no parent") }
        }
        messages[id] = Message(
            seq: entry.seq, sender: entry.actor, parent: parent, texts: [(entry.seq, text)], changes: [entry.seq])
    }

    private mutating func edit(_ id: MessageID, _ text: String, _ entry: Tables.Entry) {
        change(id, entry, bySender: true)
        messages[id]?.texts.append((entry.seq, text))
    }

    private mutating func delete(_ id: MessageID, _ entry: Tables.Entry) {
        change(id, entry, bySender: true)
        messages[id]?.deleted = entry.seq
    }

    private mutating func tapback(_ id: MessageID, _ kind: String?, _ entry: Tables.Entry) {
        change(id, entry, bySender: false)
        messages[id]?.tapbacks.append((entry.seq, entry.actor, kind))
    }

    private mutating func change(_ id: MessageID, _ entry: Tables.Entry, bySender: Bool) {
        guard let message = message(id, for: entry.actor) else {
            return violated("\(entry.actor) changes a message at \(entry.seq) that they cannot see")
        }
        if message.deleted != nil { violated("a deleted message is changed at \(entry.seq)") }
        if bySender, message.sender != entry.actor { violated("another's message is changed at \(entry.seq)") }
        messages[id]!.changes.append(entry.seq)
    }
}

// MARK: Checking what clients receive

extension Ledger {
    /// Returns what is wrong with a state of a message that `user` received, or nil. The state must lie between `first`
    /// and `last`. `mayBeEmpty`: a deletion of the message was requested.
    func fault(
        in state: MessageState, toldTo user: UserID, from first: Int64, through last: Int64, mayBeEmpty: Bool
    ) -> String? {
        guard let id = state.id, let message = message(id, for: user) else { return "which is not theirs to see" }
        let at = state.changeSeq
        guard message.seq == state.seq, message.sender == state.sender else { return "as another one" }
        guard at >= first, at <= last else { return "as it was at \(at), not between \(first) and \(last)" }
        guard state.isDeleted == (state.text == nil) else { return "half deleted" }
        guard state.parent?.id == message.parent else { return "with another parent" }
        if let text = state.text { return fault(in: state, text, of: message) }
        if !mayBeEmpty { return "without its text" }
        return state.tapbackCounts.isEmpty ? nil : "with tapbacks, though it is deleted"
    }

    private func fault(in state: MessageState, _ text: String, of message: Message) -> String? {
        let at = state.changeSeq
        if message.isDeleted(at: at) { return "with a deleted text" }
        if message.text(at: at) != text { return "with the text \(text) at \(at)" }
        if state.isEdited != message.texts.dropFirst().contains(where: { $0.seq <= at }) {
            return "\(state.isEdited ? "" : "not ")edited at \(at)"
        }
        let counts = message.counts(at: at)
        // The state is as of when a member left. Tapbacks replaced since then are not kept.
        let isCut = !message.changes.contains(at)
        let isRight =
            isCut ? state.tapbackCounts.allSatisfy { $0.value <= counts[$0.key] ?? 0 } : state.tapbackCounts == counts
        return isRight ? nil : "with the tapbacks \(state.tapbackCounts) at \(at)"
    }
}
