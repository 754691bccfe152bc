import Models

/// What a follower asks of the system, by the public contract, on behalf of a user.
package enum LiveOperation: Sendable {
    case create(peer: UserID?, members: [UserID], title: String?)
    /// - Parameter sentAt: the source's date, if it has one.
    case send(ImportRecord.Message, sentAt: Timestamp?)
    case edit(MessageID, text: String, by: UserID)
    case deleteForEveryone(MessageID, by: UserID)
    /// Nil takes it back.
    case tapback(MessageID, TapbackKind?, by: UserID)
    case add(UserID, by: UserID)
    case remove(UserID, by: UserID)
    case rename(String, by: UserID)
    case receipt(ImportRecord.Receipt.Kind, through: ReceiptPosition, by: UserID)

    package enum ReceiptPosition: Sendable {
        case position(Int64)
        /// That of an imported message, if it lies beyond what was told before.
        case message(MessageID, beyond: Int64)
    }

    package enum Kind: String, CaseIterable, Sendable {
        case create, send, edit, delete, tapback, add, remove, rename, receipt
    }

    package var kind: Kind {
        switch self {
        case .create: .create
        case .send: .send
        case .edit: .edit
        case .deleteForEveryone: .delete
        case .tapback: .tapback
        case .add: .add
        case .remove: .remove
        case .rename: .rename
        case .receipt: .receipt
        }
    }
}

/// An operation, and the name under which it is repeated.
package struct KeyedOperation: Sendable {
    package let operation: LiveOperation
    /// For `Idempotency-Key`: the same in every run.
    package let key: UUIDBytes

    init(_ operation: LiveOperation, _ names: String...) {
        self.operation = operation
        key = ArchiveID.key(names)
    }
}

/// What follows from one row of the source, or from what is due in a conversation.
package struct FollowStep: Sendable {
    package let place: SourcePlace
    package let operations: [KeyedOperation]
    let note: FollowNote
}

/// The steps of one conversation, in their order. Those of different conversations do not wait for each other.
package struct FollowWork: Sendable {
    package let conversation: ConversationID
    package let isGroup: Bool
    package internal(set) var steps: [FollowStep]
}

/// What is to be noted when a step has its results.
struct FollowNote: Sendable {
    var row: (id: UUIDBytes, row: FollowState.Row)?
    /// The conversation that the step is about.
    var conversation: ConversationID?
    /// The message that went in, with its date: its position is noted, too.
    var message: (id: MessageID, date: Int64)?
    var horizons: [(kind: FollowHorizon.Kind, horizon: FollowHorizon)] = []
    var created: FollowState.Conversation?
    var chats: [String] = []
    var title: String?
    var members: [UserID]?
    var change: ChatMembership.Change?
    /// Receipts of this kind were sent.
    var receipts: FollowHorizon.Kind?
    /// Whether receipts are to be looked at now, or were.
    var isDue: Bool?
    var report = ArchiveReport()
}

/// What there is to do.
package enum FollowTurn: Sendable {
    case work([FollowWork])
    /// Nothing new, and older rows are still being looked at.
    case looking
    case idle
}
