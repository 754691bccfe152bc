import Bus
import Bytes
import Models
import Postgres
import Reactor
import ServiceKit
import Slots
import Wire

/// Publishes committed changes on the bus. Each change is encoded and published once for all subscribers. Delivery is
/// not required: the digest recovers lost changes.
@Reactor
final class Announcer {
    private let bus: Bus
    private let slots: OwnedSlots
    private let trimmer: StreamTrimmer
    private let log: Log

    init(bus: Bus, slots: OwnedSlots, trimmer: StreamTrimmer, log: Log) {
        self.bus = bus
        self.slots = slots
        self.trimmer = trimmer
        self.log = log
    }

    func announce(_ item: SendItem, _ created: SendStatement.Created, _ trace: TraceContext?) {
        announce(
            ChangeFields(
                conversation: item.conversation, seq: created.seq, kind: .messageCreated, at: created.createdAt,
                actor: item.sender, content: .message(MessageFields(item, created))), trace)
    }

    /// Announces the changes of a conversation at these positions. `changes` ends with them in their stored form.
    func announce(
        _ conversation: ConversationID, _ positions: Range<Int64>, of changes: Rows, _ trace: TraceContext?
    ) {
        for row in changes {
            guard let change = ChangeFields(row, conversation: conversation), positions.contains(change.seq) else {
                continue
            }
            announce(change, about: FeedStatement.user(row), trace)
        }
    }

    /// - Parameter user: the user whom a change of members is about.
    func announce(_ change: ChangeFields, about user: String = "", _ trace: TraceContext?) {
        let slot = change.conversation.slot
        bus.append(to: .change(slot.group)) { change.writeEntry(about: user, trace, to: &$0) }
        slots.note(StreamPosition(.conversation(change.conversation), change.seq), in: slot)
        if let trace { write(trace, change) }
    }

    /// Announces a change of a private stream.
    ///
    /// - Parameter slot: the slot of the command that caused it.
    func announce(_ change: PrivateChangeFields, to user: UserID, causedIn slot: Slot) {
        bus.append(to: .privateChange(user.slot.group)) { buffer in
            change.write(to: &buffer, of: user, joinedAfter: change.start ?? change.lastSeq)
        }
        slots.note(StreamPosition(.user(user), change.useq), in: slot)
        trimmer.moved(user, to: change.useq)
    }

    private func write(_ trace: TraceContext, _ change: ChangeFields) {
        var fields = [
            LogField("conversation", describing: change.conversation), LogField("seq", change.seq),
            LogField("kind", change.kind.name.description),
        ]
        if case .message(let message?) = change.content { fields.append(LogField("message", describing: message.id)) }
        log.info("traced: committed", trace, fields)
    }
}
