import Models
import Postgres
import Slots
import Wire

/// Stores a run of messages. `SQL/send_messages.sql` explains how.
enum SendStatement {
    struct Input: NamedFields {
        let slots: Parameter<[Slot]>
        let conversations: Parameter<[ConversationID]>
        let ends: Parameter<[Int64]>
        let streamConversations: Parameter<[Int32]>
        let senders: Parameter<[UserID]>
        let streams: Parameter<[Int32]>
        let ids: Parameter<[MessageID]>
        let texts: Parameter<[UnsafeRawBufferPointer]>
        let sentTimes: Parameter<[Timestamp]>
        let replyPlaces: Parameter<[Int64]>
        let parents: Parameter<[MessageID]>
        let mentionPlaces: Parameter<[Int64]>
        let mentionLists: Parameter<[UnsafeRawBufferPointer]>
        let extraPlaces: Parameter<[Int64]>
        let extras: Parameter<[UnsafeRawBufferPointer]>
        let sealedPlaces: Parameter<[Int64]>
        let answersAttachments: Parameter<Bool>
    }

    struct Columns: NamedFields {
        let conversations: Column<[Int64]>
        let bases: Column<[Int64]>
        let times: Column<[Timestamp]>
        let memberCounts: Column<[Int32]>
        let refusedPlaces: Column<[Int64]>
        let refusals: Column<[SendVerdict]>
        let deletedPlaces: Column<[Int64]>
        let replyPlaces: Column<[Int64]>
        let parentSeqs: Column<[Int64]>
        let parentSenders: Column<[UserID]>
        let parentTexts: Column<[UnsafeRawBufferPointer]>
    }

    static let statement = PreparedStatement<Input, Columns>(
        "send_messages", PackageResources.send_messages_sql, .store)

    /// The statement counts places and subscripts from 1.
    ///
    /// - Parameter answersAttachments: whether what carries attachments may be replied to.
    static func add(
        to batch: inout Batch, _ items: ArraySlice<SendItem>, _ layout: SendLayout, answersAttachments: Bool
    ) {
        if let item = items.first, item.message.isStoredAlone {
            return SendAttachmentsStatement.add(to: &batch, item, answersAttachments: answersAttachments)
        }
        if SendOneStatement.fits(items) { return SendOneStatement.add(to: &batch, items[items.startIndex]) }
        batch.execute(statement) { parameters, input in
            parameters.set(input.slots, to: layout.conversations.lazy.map(\.slot))
            parameters.set(input.conversations, to: layout.conversations)
            parameters.set(input.ends, to: layout.ends.lazy.map { Int64($0) })
            parameters.set(input.streamConversations, to: layout.streams.lazy.map { Int32($0.conversation + 1) })
            parameters.set(input.senders, to: layout.streams.lazy.map(\.sender))
            parameters.set(input.streams, to: layout.streamOfPlace.lazy.map { Int32($0 + 1) })
            let messages = layout.order.lazy.map { items[items.startIndex + $0].message }
            parameters.set(input.ids, to: messages.map(\.id))
            parameters.set(input.texts, to: messages.map(\.text))
            parameters.set(input.sentTimes, to: messages.map(\.sentAt))
            parameters.set(input.replyPlaces, to: layout.replies.lazy.map { Int64($0.place + 1) })
            parameters.set(input.parents, to: layout.replies.lazy.map(\.value))
            parameters.set(input.mentionPlaces, to: layout.mentions.lazy.map { Int64($0.place + 1) })
            parameters.set(input.mentionLists, to: layout.mentions.lazy.map(\.value))
            parameters.set(input.extraPlaces, to: layout.extras.lazy.map { Int64($0.place + 1) })
            parameters.set(input.extras, to: layout.extras.lazy.map(\.value))
            parameters.set(input.sealedPlaces, to: layout.sealed.lazy.map { Int64($0 + 1) })
            parameters.set(input.answersAttachments, to: answersAttachments)
        }
    }

    /// The outcome of one message.
    enum Outcome {
        case created(Created)
        /// The message is already stored, by this sender and with this content.
        case repeated
        case refused(Problem)
    }

    struct Created {
        let seq: Int64
        let createdAt: Timestamp
        /// The number of members without the sender.
        let recipientCount: Int
        let parent: Parent?
        /// The message was deleted for everyone before it arrived.
        let isDeleted: Bool

        struct Parent {
            let seq: Int64
            let sender: UserID
            /// Empty if the sender of the reply hid or cleared the parent.
            let text: UnsafeRawBufferPointer
        }

        /// The parent as the sender sees it.
        var parentView: ParentView {
            guard let parent, !parent.text.isEmpty else { return .unavailable }
            return .visible(sender: parent.sender, text: parent.text)
        }
    }

    /// Calls `body` with the index in the run and the outcome of each message. Bytes in it live as long as the rows.
    static func forEachOutcome(
        in rows: Rows, _ items: ArraySlice<SendItem>, _ layout: SendLayout, _ body: (Int, Outcome) -> Void
    ) {
        guard let row = rows.first else { return }
        // All statements that store messages have the same columns.
        let columns = statement.columns
        var positions = Positions(row, columns)
        var refusals = ListByPlace(places: row[columns.refusedPlaces], values: row[columns.refusals])
        let deletions = row[columns.deletedPlaces]
        var deleted = ListByPlace(places: deletions, values: deletions)
        var parents = ListByPlace(places: row[columns.replyPlaces], values: parents(row, columns))
        for (place, index) in layout.order.enumerated() {
            if let refusal = refusals.value(at: place) {
                body(index, refusal.outcome(of: items[items.startIndex + index].message))
            } else {
                let conversation = layout.streams[layout.streamOfPlace[place]].conversation
                let position = positions.position(in: conversation)
                body(
                    index,
                    .created(
                        Created(
                            seq: position.base + Int64(place + 1 - refusals.count), createdAt: position.at,
                            recipientCount: position.members - 1, parent: parents.value(at: place),
                            isDeleted: deleted.value(at: place) != nil)))
            }
        }
    }

    private static func parents(_ row: Row, _ columns: Columns) -> [Created.Parent] {
        let seqs = row[columns.parentSeqs]
        guard !seqs.isEmpty else { return [] }
        let senders = row[columns.parentSenders], texts = row[columns.parentTexts]
        return seqs.indices.map { Created.Parent(seq: seqs[$0], sender: senders[$0], text: texts[$0]) }
    }
}

/// The verdict of the statements on a message.
enum SendVerdict: Int16, PostgresEnum {
    case stored = 0
    /// The sender was never in a conversation with this id.
    case unknownConversation = 1
    case repeated = 2
    /// The id is taken by another sender's message or one with other content.
    case idIsTaken = 3
    case senderHasLeft = 4
    /// The parent does not exist, is no user's message, or was deleted for everyone.
    case notReplyable = 5
    case conversationIsImported = 6
    /// A file that it is to carry is not there, or not ready.
    case fileIsMissing = 7
    /// By the group's permissions.
    case mayNotWrite = 8
    /// Everybody; the same.
    case mayNotMentionAll = 9
    /// By an administrator. The edges refuse what clients send; this is for what was scheduled.
    case senderIsSuspended = 10
    /// What is to be forwarded is nothing that its sender may read.
    case sourceIsMissing = 11
    case notForwardable = 12
    case originIsErased = 13

    fileprivate func outcome(of message: NewMessage) -> SendStatement.Outcome {
        switch self {
        case .stored: preconditionFailure("what is stored is not among the refusals")
        case .unknownConversation: .refused(.unknownConversation)
        case .repeated: .repeated
        case .idIsTaken: .refused(Problem(.conflict, "id: another message has this id"))
        case .senderHasLeft: .refused(.notAMember)
        case .notReplyable: .refused(Problem(.notReplyable, "replyTo: this message cannot be replied to"))
        case .conversationIsImported: .refused(.conversationIsImported)
        case .fileIsMissing: .refused(message.attachments.problem)
        case .mayNotWrite: .refused(.mayNotWrite)
        case .mayNotMentionAll: .refused(.mayNotMentionAll)
        case .sourceIsMissing: .refused(Problem(.notFound, "forward.messageId: there is no such message"))
        case .notForwardable: .refused(.notForwardable)
        case .originIsErased: .refused(Problem(.unavailable, "the message that is forwarded changes just now"))
        case .senderIsSuspended: preconditionFailure("no statement for clients looks for it")
        }
    }
}

/// The new positions of a run's conversations, read in their order. Conversations in which nothing was stored are left
/// out.
private struct Positions {
    struct Position {
        /// A message's position is this plus its place, from 1, less the refused messages before it.
        let base: Int64
        let at: Timestamp
        let members: Int
    }

    private let conversations: [Int64]
    private let bases: [Int64]
    private let times: [Timestamp]
    private let memberCounts: [Int32]
    private var next = 0

    init(_ row: Row, _ columns: SendStatement.Columns) {
        conversations = row[columns.conversations]
        bases = row[columns.bases]
        times = row[columns.times]
        memberCounts = row[columns.memberCounts]
    }

    /// `conversation` counts from 0.
    mutating func position(in conversation: Int) -> Position {
        while conversations[next] != conversation + 1 { next += 1 }
        return Position(base: bases[next], at: times[next], members: Int(memberCounts[next]))
    }
}

/// Values of some messages, read in the order of their places, which PostgreSQL counts from 1.
private struct ListByPlace<Value> {
    let places: [Int64]
    let values: [Value]
    /// The number of values passed.
    private(set) var count = 0

    init(places: [Int64], values: [Value]) {
        self.places = places
        self.values = values
    }

    mutating func value(at place: Int) -> Value? {
        while count < places.count, places[count] < place + 1 { count += 1 }
        guard count < places.count, places[count] == place + 1 else { return nil }
        defer { count += 1 }
        return values[count]
    }
}

extension Problem {
    static let unknownConversation = Problem(.notFound, "there is no such conversation")
    static let conversationIsImported = Problem(.conflict, "the conversation is being imported")
    static let notAMember = Problem(.forbidden, "only members may do this")
    static let mayNotWrite = Problem(.forbidden, "only members whose role may write here do this")
    static let notForwardable = Problem(
        .notForwardable,
        "forward.messageId: it is deleted, sealed, a poll or no user's message, disappears by itself, or carries a file that is gone"
    )
    static let mayNotMentionAll = Problem(
        .forbidden, "mentionsAll: only members of a group whose role may mention everybody do this")
}
