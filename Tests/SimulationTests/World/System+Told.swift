import Models
import Reactor

// Each check returns what is wrong with what a user received, or nil.
extension System {
    /// `last`: the latest state that the message may have. Nil means the end of the stay that contains the change.
    func fault(
        in change: ChangeState, of id: ConversationID, toldTo user: UserID, through last: Int64? = nil
    ) -> String? {
        guard let ledger = ledger(id), let end = ledger.endOfStay(around: change.seq, of: user) else {
            return "which is not theirs to see"
        }
        let entries = database.tables.conversations[id]!.entries
        guard Int(change.seq) <= entries.count else { return "which there is not" }
        let cause = entries[Int(change.seq) - 1]
        guard change.kind == cause.kind.name.description, change.actor == cause.actor else { return "as another one" }
        guard let message = change.message else {
            return ledger.message(cause.message, for: user) == nil ? nil : "without its message"
        }
        guard message.id == cause.message else { return "with another message" }
        return fault(in: message, of: ledger, toldTo: user, from: change.seq, through: last ?? end)
    }

    private func fault(
        in state: MessageState, of ledger: Ledger, toldTo user: UserID, from first: Int64, through last: Int64
    ) -> String? {
        let mayBeEmpty = promises.deletionsAsked.contains { $0.message == state.id && $0.user == state.sender }
        return ledger.fault(in: state, toldTo: user, from: first, through: last, mayBeEmpty: mayBeEmpty)
    }

    func fault(inChanges page: PageState, of id: ConversationID, toldTo user: UserID) -> String? {
        guard let ledger = ledger(id) else { return "an unknown conversation" }
        let expected = page.lastSeq < 1 ? [] : (1...page.lastSeq).filter { ledger.isVisible($0, to: user) }
        guard page.changes.map(\.seq) == expected else {
            return "\(page.changes.map(\.seq)), not \(expected)"
        }
        for change in page.changes {
            if let fault = fault(in: change, of: id, toldTo: user, through: page.lastSeq) {
                return "change \(change.seq) \(fault)"
            }
        }
        return nil
    }

    /// `before`: what was promised at the time of the request.
    func fault(
        inHistory page: PageState, of id: ConversationID, toldTo user: UserID, _ before: Promises
    ) -> String? {
        guard let ledger = ledger(id) else { return "an unknown conversation" }
        let place = Promises.Place(user: user, conversation: id)
        let gone = before.personal[place] ?? Promises.Personal()
        let mayBeGone = promises.personalAsked[place] ?? Promises.Personal()
        var told: Set<Int64> = []
        for state in page.messages {
            told.insert(state.seq)
            if state.seq <= gone.cleared { return "message \(state.seq), which is cleared" }
            if let id = state.id, gone.hidden.contains(id) { return "message \(state.seq), which is hidden" }
            guard state.kind != "system" else { continue }
            if let fault = fault(in: state, of: ledger, toldTo: user, at: page.lastSeq, before) {
                return "message \(state.seq) \(fault)"
            }
        }
        let hidden = Set(mayBeGone.hidden.compactMap { ledger.messages[$0]?.seq })
        let shown = ledger.messages.values.map(\.seq) + ledger.events
        let missing = shown.filter { seq in
            seq <= page.lastSeq && ledger.isVisible(seq, to: user) && seq > mayBeGone.cleared && !told.contains(seq)
                && !hidden.contains(seq)
        }
        return missing.isEmpty ? nil : "a history up to \(page.lastSeq) without \(missing.sorted())"
    }

    private func fault(
        in state: MessageState, of ledger: Ledger, toldTo user: UserID, at lastSeq: Int64, _ before: Promises
    ) -> String? {
        func isGone(_ id: MessageID?, _ sender: UserID?) -> Bool {
            before.deleted.contains { $0.message == id && $0.user == sender }
        }
        if state.text != nil, isGone(state.id, state.sender) { return "with a text that was to be deleted" }
        let newest = state.id.flatMap { ledger.messages[$0] }?.lastChange(at: lastSeq) ?? 0
        if let fault = fault(in: state, of: ledger, toldTo: user, from: newest, through: lastSeq) { return fault }
        guard let parent = state.parent, let preview = parent.preview else { return nil }
        guard let shown = ledger.message(parent.id, for: user) else { return "with a parent that is not theirs to see" }
        if isGone(parent.id, shown.sender) || shown.isDeleted(at: lastSeq) { return "with a deleted parent's text" }
        return shown.text(at: lastSeq) == preview ? nil : "with a parent's text \(preview)"
    }
}
