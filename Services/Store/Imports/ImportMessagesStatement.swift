import Models
import Postgres
import Slots
import Wire

/// Stores messages of an import, and what happened to earlier ones meanwhile.
enum ImportMessagesStatement {
    struct Input: NamedFields {
        let key: ConversationInput
        let ids: Parameter<[MessageID]>
        let senders: Parameter<[UserID]>
        let texts: Parameter<[UnsafeRawBufferPointer?]>
        let times: Parameter<[Timestamp]>
        let latestTimes: Parameter<[Timestamp]>
        let parents: Parameter<[MessageID?]>
        let attachments: Parameter<[UnsafeRawBufferPointer?]>
        let extras: Parameter<[UnsafeRawBufferPointer?]>
        let sealed: Parameter<[Bool]>
        let forwardedBy: Parameter<[UserID?]>
        let forwardedTimes: Parameter<[Timestamp?]>
        let options: Parameter<[String?]>
        let areMultiple: Parameter<[Bool]>
        let eventPlaces: Parameter<[Int64]>
        let eventSteps: Parameter<[Int16]>
        let eventTimes: Parameter<[Timestamp]>
        let eventTexts: Parameter<[UnsafeRawBufferPointer?]>
        let until: Parameter<Timestamp?>
        let isLast: Parameter<Bool>
    }

    struct Columns: NamedFields {
        let verdicts: Column<[ImportVerdict]>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "import_messages", PackageResources.import_messages_sql, .store)

    /// An edit of a message of the run, or its deletion.
    private struct Event {
        /// The message's place in the run, from 1.
        let place: Int
        let step: Int
        let at: Timestamp
        let text: UnsafeRawBufferPointer?
    }

    static func add(
        _ messages: some Collection<ImportRecord.Message>, of conversation: ConversationID, to batch: inout Batch
    ) {
        add(messages, until: nil, isLast: false, of: conversation, to: &batch)
    }

    /// Stores what happened before a time, or everything, and no message.
    static func addEvents(before time: Timestamp?, of conversation: ConversationID, to batch: inout Batch) {
        add([ImportRecord.Message](), until: time, isLast: time == nil, of: conversation, to: &batch)
    }

    private static func add(
        _ messages: some Collection<ImportRecord.Message>, until: Timestamp?, isLast: Bool,
        of conversation: ConversationID, to batch: inout Batch
    ) {
        let events = messages.enumerated().flatMap { Self.events(of: $1, at: $0 + 1) }
        batch.execute(statement) { parameters, input in
            parameters.set(input.key, to: conversation)
            parameters.set(input.ids, to: messages.lazy.map(\.id))
            parameters.set(input.senders, to: messages.lazy.map(\.sender))
            parameters.set(input.texts, to: messages.lazy.map { $0.texts.first?.text })
            parameters.set(input.times, to: messages.lazy.map(\.createdAt))
            parameters.set(input.latestTimes, to: messages.lazy.map(\.latestTime))
            parameters.set(input.parents, to: messages.lazy.map(\.replyTo))
            parameters.set(
                input.attachments, to: messages.lazy.map { $0.attachments.isEmpty ? nil : $0.attachments })
            parameters.set(input.extras, to: messages.lazy.map { $0.extra.isEmpty ? nil : $0.extra })
            parameters.set(input.sealed, to: messages.lazy.map(\.isSealed))
            parameters.set(input.forwardedBy, to: messages.lazy.map { $0.forwarded?.userId })
            parameters.set(input.forwardedTimes, to: messages.lazy.map { $0.forwarded?.sentAt })
            // No option has a line feed.
            parameters.set(input.options, to: messages.lazy.map { $0.poll?.options.joined(separator: "\n") })
            parameters.set(input.areMultiple, to: messages.lazy.map { $0.poll?.isMultiple ?? false })
            parameters.set(input.eventPlaces, to: events.lazy.map { Int64($0.place) })
            parameters.set(input.eventSteps, to: events.lazy.map { Int16($0.step) })
            parameters.set(input.eventTimes, to: events.lazy.map(\.at))
            parameters.set(input.eventTexts, to: events.lazy.map(\.text))
            parameters.set(input.until, to: until)
            parameters.set(input.isLast, to: isLast)
        }
    }

    private static func events(of message: ImportRecord.Message, at place: Int) -> [Event] {
        if let deletedAt = message.deletedAt { return [Event(place: place, step: 1, at: deletedAt, text: nil)] }
        guard message.texts.count > 1 else { return [] }
        return message.texts.enumerated().dropFirst().map { step, text in
            Event(place: place, step: step, at: text.at, text: text.text)
        }
    }
}

extension ImportRecord.Message {
    fileprivate var latestTime: Timestamp { deletedAt ?? texts.last?.at ?? createdAt }
}
