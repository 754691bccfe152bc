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

    func announce(
        _ creation: CreateConversation, at: Timestamp, _ joined: [CreateStatement.Joined], _ trace: TraceContext?
    ) {
        let content = ChangeFields.Content.conversation(
            kind: creation.kind, title: creation.title.isEmpty ? nil : creation.title, createdAt: at,
            memberCount: joined.count)
        // First, so that a session that joins here receives its first change like any other.
        for member in joined { announceJoining(member, creation.conversation, memberCount: joined.count) }
        announce(
            ChangeFields(
                conversation: creation.conversation, seq: 1, kind: .conversationCreated, at: at,
                actor: creation.creator,
                content: content), trace)
    }

    /// `changes` ends with the changes of the write in their stored form.
    func announce(
        _ write: Write, _ result: WriteStatement.Result.Change, _ changes: Rows, _ trace: TraceContext?
    ) {
        if let useq = result.useq { announcePrivately(write, result, useq) }
        announce(write.conversation, result.seq - result.positions + 1..<result.seq + 1, of: changes, trace)
    }

    /// `changes` ends with the changes of the step in their stored form. The user's private change is published with
    /// them.
    func announce(_ step: EraseStep, _ row: Row, _ changes: Rows) {
        guard let conversation = step.conversation, let positions = ErasureStatements.positions(step, row) else {
            return
        }
        announce(conversation, positions, of: changes, nil)
    }

    private func announce(
        _ conversation: ConversationID, _ positions: Range<Int64>, of changes: Rows, _ trace: TraceContext?
    ) {
        for row in changes {
            guard let change = ChangeFields(row, conversation: conversation), positions.contains(change.seq) else {
                continue
            }
            announce(change, about: FeedStatement.user(row), trace)
        }
    }

    private func announcePrivately(_ write: Write, _ result: WriteStatement.Result.Change, _ useq: Int64) {
        guard let told = PrivateChange(of: write, result, useq: useq) else { return }
        announce(told, causedIn: write.conversation.slot)
    }

    func announce(_ entry: ReadPositions.Entry, _ told: ReadStatement.Told) {
        let fields = PrivateChangeFields(
            useq: told.useq, kind: .readMoved, at: told.at, conversation: entry.conversation, readSeq: entry.readSeq)
        announce(PrivateChange(user: entry.user, fields: fields), causedIn: entry.user.slot)
    }

    func announce(_ user: UserID, _ change: SettingsStatement.Result.Change) {
        let fields = PrivateChangeFields(
            useq: change.useq, kind: .settingsChanged, at: change.at, settings: .ofUser(change.settings))
        announce(PrivateChange(user: user, fields: fields), causedIn: user.slot)
    }

    private func announce(_ told: PrivateChange, causedIn slot: Slot) {
        let fields = told.fields
        bus.append(to: .privateChange(told.user.slot.group)) { buffer in
            fields.write(to: &buffer, of: told.user, joinedAfter: fields.lastSeq)
        }
        slots.note(StreamPosition(.user(told.user), fields.useq), in: slot)
        trimmer.moved(told.user, to: fields.useq)
    }

    private func announce(_ change: ChangeFields, about user: String = "", _ trace: TraceContext?) {
        let slot = change.conversation.slot
        bus.append(to: .change(slot.group)) { change.writeEntry(about: user, trace, to: &$0) }
        slots.note(StreamPosition(.conversation(change.conversation), change.seq), in: slot)
        if let trace { write(trace, change) }
    }

    private func write(_ trace: TraceContext, _ change: ChangeFields) {
        var fields = [
            LogField("conversation", describing: change.conversation), LogField("seq", change.seq),
            LogField("kind", change.kind.name.description),
        ]
        if case .message(let message?) = change.content { fields.append(LogField("message", describing: message.id)) }
        log.info("traced: committed", trace, fields)
    }

    private func announceJoining(
        _ member: CreateStatement.Joined, _ conversation: ConversationID, memberCount: Int
    ) {
        let fields = PrivateChangeFields(
            useq: member.useq, kind: .conversationJoined, at: member.at, conversation: conversation, lastSeq: 0,
            memberCount: memberCount)
        announce(PrivateChange(user: member.user, fields: fields), causedIn: conversation.slot)
    }
}

/// A private change and its user.
private struct PrivateChange {
    let user: UserID
    let fields: PrivateChangeFields

    init(user: UserID, fields: PrivateChangeFields) {
        self.user = user
        self.fields = fields
    }

    /// The private change that a write causes, if it causes one.
    init?(of write: Write, _ result: WriteStatement.Result.Change, useq: Int64) {
        func fields(
            _ kind: PrivateKind, message: MessageID? = nil, lastSeq: Int64? = nil, throughSeq: Int64? = nil,
            settings: PrivateChangeFields.Settings? = nil, memberCount: Int = 0
        ) -> PrivateChangeFields {
            PrivateChangeFields(
                useq: useq, kind: kind, at: result.at, conversation: write.conversation, message: message,
                lastSeq: lastSeq, throughSeq: throughSeq, settings: settings, memberCount: memberCount)
        }
        switch write.action {
        case .hide(let message): self.init(user: write.actor, fields: fields(.messageHidden, message: message))
        case .clearHistory:
            self.init(user: write.actor, fields: fields(.historyCleared, throughSeq: result.told))
        case .putMember(let user, _):
            self.init(
                user: user,
                fields: fields(.conversationJoined, lastSeq: result.seq - 1, memberCount: Int(result.told ?? 0)))
        case .removeMember(let user): self.init(user: user, fields: fields(.conversationLeft))
        case .unlist: self.init(user: write.actor, fields: fields(.conversationRemoved))
        case .putSettings:
            let settings = ConversationSettings(told: result.told ?? 0)
            self.init(user: write.actor, fields: fields(.settingsChanged, settings: .inConversation(settings)))
        case .edit, .deleteForEveryone, .setTapback, .removeTapback, .rename: return nil
        }
    }
}
