import Models
import Postgres
import Wire

/// A member has a message sent at a time.
struct ScheduleMessage: WriteKind {
    struct Input: NamedFields {
        let message: Parameter<MessageID>
        let dueAt: Parameter<Timestamp?>
        let text: Parameter<String>
        let replyId: Parameter<MessageID?>
        let mentions: Parameter<String?>
        let extra: Parameter<String?>
    }

    static let statement = PreparedWrite<Input>("schedule_message", PackageResources.schedule_message_sql, .store)

    let scheduled: NewScheduled
    let conversation: ConversationID

    var subject: UUIDBytes? { scheduled.id.uuid }

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.message, to: scheduled.id)
        parameters.set(input.dueAt, to: scheduled.isForNow ? nil : scheduled.at)
        parameters.set(input.text, to: scheduled.text)
        parameters.set(input.replyId, to: scheduled.replyTo)
        parameters.set(input.mentions, to: scheduled.mentions.isEmpty ? nil : scheduled.mentions)
        parameters.set(input.extra, to: scheduled.extra.isEmpty ? nil : scheduled.extra)
    }

    var changes: WriteChanges { .none }

    /// Nothing is kept of a user whose erasure has begun.
    func lock(_ locks: inout Locks, for write: Write) {
        locks.insert(user: write.actor)
        locks.insert(listsOf: write.actor)
    }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .scheduled) { fields, change in
            fields.message = scheduled.id
            fields.scheduled = ScheduledFields(
                conversation: conversation, id: scheduled.id, useq: fields.useq,
                at: change.detail.map { Timestamp(milliseconds: $0) } ?? scheduled.at, text: scheduled.text,
                replyTo: scheduled.replyTo, mentions: scheduled.mentions, extra: scheduled.extra)
        }
    }

    func carriedOut(_ change: WriteStatement.Result.Change, _ write: Write, _ outcomes: CommandOutcomes) {
        guard let at = change.detail, at <= change.at.milliseconds else { return }
        outcomes.scheduled.send(of: write.actor, in: write.conversation)
    }

    func explanation(of code: Problem.Code) -> String? {
        switch code {
        case .invalid:
            """
            at: must be null, or from \(ContractLimits.scheduledBehind.components.seconds) seconds ago to \
            \(ContractLimits.scheduledAhead.components.seconds) seconds ahead
            """
        case .conflict:
            """
            messageId: there is a message with this id, or you have \(ContractLimits.scheduledPerUser) scheduled messages, as many \
            as a user may, or \(WriteStatement.everyConflict)
            """
        default: nil
        }
    }
}

/// Its author has it not sent.
struct CancelScheduled: WriteKind {
    struct Input: NamedFields { let message: Parameter<MessageID> }

    static let statement = PreparedWrite<Input>("cancel_scheduled", PackageResources.cancel_scheduled_sql, .store)

    let id: MessageID

    var subject: UUIDBytes? { id.uuid }

    func set(_ input: Input, in parameters: inout Parameters, _: ConversationLimit) {
        parameters.set(input.message, to: id)
    }

    var changes: WriteChanges { .none }

    func notice(by actor: UserID) -> PrivateNotice? {
        PrivateNotice(to: actor, .scheduled) { fields, _ in fields.message = id }
    }

    func explanation(of code: Problem.Code) -> String? {
        code == .conflict ? "messageId: the message was sent, or \(WriteStatement.everyConflict)" : nil
    }
}
