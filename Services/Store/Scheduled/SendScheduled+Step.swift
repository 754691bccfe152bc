import Bus
import Bytes
import Models
import Postgres
import Reactor
import Slots
import Wire

/// Sends a scheduled message, or keeps why not. The message is stored and is scheduled no more by one commit, so it is sent once
/// whatever happens to a store.
extension SendScheduled: BatchStep {
    var isOfOneSlot: Bool { false }

    struct Input: NamedFields {
        let key: ConversationInput
        let user: UserInput
        let answersAttachments: Parameter<Bool>
    }

    struct Columns: NamedFields {
        let isDue: Column<Bool>
        let id: Column<MessageID?>
        let text: Column<UnsafeRawBufferPointer?>
        let parent: Column<MessageID?>
        let mentions: Column<UnsafeRawBufferPointer?>
        let extra: Column<UnsafeRawBufferPointer?>
        let dueAt: Column<Timestamp?>
        let useq: Column<Int64?>
        let toldAt: Column<Timestamp?>
        let problem: Column<Int16?>
        let seq: Column<Int64?>
        let createdAt: Column<Timestamp?>
        let memberCount: Column<Int32?>
        let isDeleted: Column<Bool?>
        let parentSeq: Column<Int64?>
        let parentSender: Column<UserID?>
        let parentText: Column<UnsafeRawBufferPointer?>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "send_scheduled", PackageResources.send_scheduled_sql, .store)

    static var statements: [Statement] { [statement.untyped] }
    /// Nobody waits for it on a screen, and those who send now go first.
    static var isBackgroundWork: Bool { true }

    func lock(_ locks: inout Locks) {
        locks.insert(user: user)
        locks.insert(conversation: conversation)
        locks.insert(streamOf: user)
    }

    func add(to batch: inout Batch, _: RequestKey, _: ConversationLimit) {
        batch.execute(Self.statement) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.user, to: user)
            parameters.set(input.answersAttachments, to: answersAttachments)
        }
    }

    func finish(_ command: Command, _ rows: StepRows, _ outcomes: CommandOutcomes) {
        let row = rows.row, columns = Self.statement.columns
        defer { outcomes.bus.respond(to: command.request, status: row[columns.isDue] ? 200 : 204) }
        guard row[columns.isDue], let id = row[columns.id], let at = row[columns.dueAt] else { return }
        let message = NewMessage(
            id: id, sentAt: row[columns.createdAt] ?? at, replyTo: row[columns.parent],
            mentions: row[columns.mentions] ?? .none, text: row[columns.text] ?? .none,
            extra: row[columns.extra] ?? .none)
        if let created = SendStatement.Created(row, columns) {
            let item = SendItem(command: 0, conversation: conversation, sender: user, message: message)
            outcomes.announcer.announce(item, created, command.trace)
        }
        outcomes.scheduled.note(isSent: row[columns.problem] == nil)
        tell(of: message, at, row, outcomes.announcer)
    }

    /// Tells the author's devices that it is gone, or why it could not be sent.
    @Reactor private func tell(of message: NewMessage, _ at: Timestamp, _ row: Row, _ announcer: Announcer) {
        let columns = Self.statement.columns
        guard let useq = row[columns.useq], let toldAt = row[columns.toldAt] else { return }
        var change = PrivateChangeFields(useq: useq, kind: .scheduled, at: toldAt, conversation: conversation)
        change.message = message.id
        if let problem = row[columns.problem] {
            change.scheduled = ScheduledFields(
                conversation: conversation, id: message.id, useq: useq, at: at,
                text: String(decoding: message.text, as: UTF8.self), replyTo: message.replyTo,
                mentions: String(decoding: message.mentions, as: UTF8.self),
                extra: String(decoding: message.extra, as: UTF8.self),
                failure: ScheduledFields.Failure(problem, at: toldAt))
        }
        announcer.announce(change, to: user, causedIn: conversation.slot)
    }
}

extension SendStatement.Created {
    /// Nil: nothing was stored.
    fileprivate init?(_ row: Row, _ columns: SendScheduled.Columns) {
        guard let seq = row[columns.seq], let createdAt = row[columns.createdAt] else { return nil }
        let parent = row[columns.parentSeq].flatMap { seq in
            row[columns.parentSender].map {
                Parent(seq: seq, sender: $0, text: row[columns.parentText] ?? .none)
            }
        }
        self.init(
            seq: seq, createdAt: createdAt, recipientCount: Int(row[columns.memberCount] ?? 1) - 1, parent: parent,
            isDeleted: row[columns.isDeleted] ?? false)
    }
}

extension UnsafeRawBufferPointer {
    fileprivate static var none: Self { Self(start: nil, count: 0) }
}
