import Models
import Postgres
import SimulationSupport
import Wire

// Edits, deletions and tapbacks: `EditMessage`, `DeleteMessage`, `HideMessage`, `SetTapback`, `RemoveTapback`.
extension Database {
    private static let editWindow = ContractLimits.editWindow.components.seconds * 1000

    /// $8 text
    func editMessage(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { _ in .init(positions: 1) }) { writing in
            guard let target = writing.visibleTarget else { return .refused(.notFound) }
            guard target.sender == writing.actor, target.kind != .system else { return .refused(.forbidden) }
            guard target.deletedAt == nil || world.mutation == .deletedMessagesAreEditable else {
                return .refused(.conflict)
            }
            guard clock.milliseconds <= target.createdAt.milliseconds + Self.editWindow else {
                return .refused(.editWindowClosed)
            }
            let text: String = arguments.value(7)
            let entry = append(.edited(target.id, text: text), writing)
            change(target.id, writing, at: entry.seq) { message in
                if world.mutation != .revisionsAreLost {
                    message.revisions.append(
                        .init(replaced: entry.seq, text: message.text, at: message.editedAt ?? message.createdAt))
                }
                message.text = text
                message.editedAt = entry.at
            }
            return .due(Effect())
        }
    }

    func deleteMessage(_ arguments: Arguments) -> [SimulatedRow] {
        let id: MessageID = arguments.value(6)
        // A message that is not there yet takes no position.
        return write(arguments, reporting: { .init(positions: $0?.message(id) == nil ? 0 : 1) }) { writing in
            guard let target = writing.existingTarget else { return deleteEarly(writing) }
            guard target.sender == writing.actor || writing.stored.isVisible(target.seq, to: writing.actor) else {
                return .refused(.notFound)
            }
            guard target.sender == writing.actor, target.kind != .system else { return .refused(.forbidden) }
            guard target.deletedAt == nil else { return .void }
            let entry = append(.deleted(target.id), writing)
            change(target.id, writing, at: entry.seq) { message in
                if world.mutation != .deletedTextsStay { message.text = nil }
                message.revisions = []
                message.tapbacks = []
                message.deletedAt = entry.at
            }
            return .due(Effect())
        }
    }

    private func deleteEarly(_ writing: Writing) -> Verdict {
        if world.mutation != .earlyDeletionsAreForgotten {
            let early = Tables.EarlyDeletion(message: MessageID(writing.subject!), user: writing.actor)
            // Those whose message has come are not needed any more.
            let kept = writing.stored.earlyDeletions.filter {
                $0.user != writing.actor || writing.stored.message($0.message) == nil
            }
            tables.conversations[writing.conversation]!.earlyDeletions = kept.union([early])
        }
        return .due(Effect())
    }

    func hideMessage(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { _ in .init() }) { writing in
            guard let target = writing.target else { return .refused(.notFound) }
            guard !writing.stored.hidden[writing.actor, default: []].contains(target.seq) else { return .void }
            if world.mutation != .hiddenMessagesStay {
                tables.conversations[writing.conversation]!.hidden[writing.actor, default: []].insert(target.seq)
            }
            return .due(tell(writing.actor, .messageHidden, writing.conversation, target.seq, target.id))
        }
    }

    /// $8 kind
    func setTapback(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { _ in .init(positions: 1) }) { writing in
            guard let target = writing.visibleTarget else { return .refused(.notFound) }
            guard target.deletedAt == nil, target.kind != .system else { return .refused(.conflict) }
            let kind: String = arguments.value(7)
            guard target.tapbacks.first(where: { $0.user == writing.actor })?.kind != kind else { return .void }
            let entry = append(.tapback(target.id, kind: kind), writing)
            change(target.id, writing, at: entry.seq) { message in
                if world.mutation != .tapbacksAddUp { message.tapbacks.removeAll { $0.user == writing.actor } }
                message.tapbacks.append(.init(user: writing.actor, kind: kind, at: entry.at, seq: entry.seq))
            }
            return .due(Effect())
        }
    }

    func removeTapback(_ arguments: Arguments) -> [SimulatedRow] {
        write(arguments, reporting: { _ in .init(positions: 1) }) { writing in
            guard let target = writing.visibleTarget else { return .refused(.notFound) }
            guard target.tapbacks.contains(where: { $0.user == writing.actor }) else { return .void }
            let entry = append(.tapback(target.id, kind: nil), writing)
            change(target.id, writing, at: entry.seq) { message in
                message.tapbacks.removeAll { $0.user == writing.actor }
            }
            return .due(Effect())
        }
    }

    /// $1 slot · $2 conversation · $3 message · $4 voter. It has no event: nobody writes to a system message.
    func writtenMessage(_ arguments: Arguments) -> [SimulatedRow] {
        let id: MessageID = arguments.value(2)
        guard let message = tables.conversations[arguments.value(1)]?.message(id) else { return [] }
        return [
            MessageColumns.bare(message, asOf: .max).dropLast() + [
                null(String.self),
                SimulatedValue(message.parent == nil && message.tapbacks.count <= ContractLimits.namedTapbacks),
            ]
        ]
    }

    // MARK: Effects

    func append(_ content: Tables.Entry.Content, _ writing: Writing) -> Tables.Entry {
        append(content, by: writing.actor, to: writing.conversation, key: writing.name.key ?? writing.name.request)
    }

    private func change(
        _ id: MessageID, _ writing: Writing, at seq: Int64, _ body: (inout Tables.Message) -> Void
    ) {
        let place = writing.stored.places[id]!
        tables.conversations[writing.conversation]!.messages[place].changed = seq
        body(&tables.conversations[writing.conversation]!.messages[place])
    }

    /// Adds a change to one user's private stream.
    func tell(
        _ user: UserID, _ kind: PrivateKind, _ conversation: ConversationID, _ seq: Int64? = nil,
        _ message: MessageID? = nil
    ) -> Effect {
        Effect(useq: tables.users[user, default: Tables.User()].tell(kind, clock, conversation, seq, message))
    }
}
