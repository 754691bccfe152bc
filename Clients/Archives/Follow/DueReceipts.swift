import Models

/// Tells the system how far a conversation was received and read.
///
/// A receipt of the source is of a message and of all that are dated before it; one of the system, of a position and all
/// before that. What iCloud filled in late has an early date and a late position. So a receipt goes as far as everything
/// before its position is dated no later than its message.
struct DueReceipts {
    private let state: FollowState
    private let conversation: FollowedChats.Conversation
    private let known: FollowState.Conversation
    private let me: UserID

    init(
        _ state: FollowState, _ conversation: FollowedChats.Conversation, _ known: FollowState.Conversation, me: UserID
    ) {
        self.state = state
        self.conversation = conversation
        self.known = known
        self.me = me
    }

    func steps() throws -> [FollowStep] {
        let steps = try FollowHorizon.Kind.allCases.compactMap { kind in
            try known.horizons[kind].flatMap { try step(kind, $0) }
        }
        return steps + [step([], FollowNote(conversation: conversation.id, isDue: false))]
    }

    private func step(_ kind: FollowHorizon.Kind, _ horizon: FollowHorizon) throws -> FollowStep? {
        var note = FollowNote(conversation: conversation.id, receipts: kind)
        guard let position = try position(of: horizon) else {
            note.report.note(.unreadBefore)
            return horizon.isTold ? nil : step([], note)
        }
        switch position {
        case .position(let seq) where seq <= horizon.toldSeq: return nil
        case .message where horizon.isTold: return nil
        default: break
        }
        let receipt: ImportRecord.Receipt.Kind = kind == .delivered ? .delivered : .read
        let users = kind == .ownRead ? [me] : conversation.others
        if kind != .ownRead, conversation.chat.isGroup { note.report.note(.groupReceipt) }
        return step(users.map { KeyedOperation(.receipt(receipt, through: position, by: $0), "receipt") }, note)
    }

    /// Nil: what is before the message is not covered.
    private func position(of horizon: FollowHorizon) throws -> LiveOperation.ReceiptPosition? {
        let isLive = try state.wasSent(horizon.message, date: horizon.date, in: conversation.id)
        guard horizon.date >= known.importedThrough else {
            return isLive ? nil : .message(horizon.message, beyond: horizon.toldSeq)
        }
        let sent = try state.sent(in: conversation.id, after: horizon.date)
        if let next = sent.next { return next > 1 ? .position(next - 1) : nil }
        return sent.last.map { .position($0) } ?? .message(horizon.message, beyond: horizon.toldSeq)
    }

    private func step(_ operations: [KeyedOperation], _ note: FollowNote) -> FollowStep {
        FollowStep(place: .chats(conversation.chat.chats), operations: operations, note: note)
    }
}
