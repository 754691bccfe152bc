import Models

/// The arrangement of a batch's signals in the parameters of `AdvanceStatement`. Conversations and users, which many
/// signals share, are passed once and looked up once.
struct SignalLayout {
    private(set) var conversations: [ConversationID] = []
    /// The index into `conversations` of each signal.
    private(set) var conversationOfSignal: [Int] = []
    private(set) var users: [UserID] = []
    /// The index into `users` of each signal.
    private(set) var userOfSignal: [Int] = []

    /// - Parameter signals: those of a conversation are adjacent, each user once.
    init(_ signals: [MergedSignal]) {
        conversationOfSignal.reserveCapacity(signals.count)
        userOfSignal.reserveCapacity(signals.count)
        var known: [UserID: Int] = [:]
        for signal in signals {
            if signal.key.conversation != conversations.last { conversations.append(signal.key.conversation) }
            conversationOfSignal.append(conversations.count - 1)
            userOfSignal.append(find(signal.key.user, &known))
        }
    }

    /// The conversations in which somebody reads.
    func conversationsRead(by signals: [MergedSignal]) -> [ConversationID] {
        var isRead = Array(repeating: false, count: conversations.count)
        for (index, signal) in signals.enumerated() where signal.horizons.read > 0 {
            isRead[conversationOfSignal[index]] = true
        }
        return conversations.indices.filter { isRead[$0] }.map { conversations[$0] }
    }

    private mutating func find(_ user: UserID, _ known: inout [UserID: Int]) -> Int {
        if let index = known[user] { return index }
        known[user] = users.count
        users.append(user)
        return users.count - 1
    }
}
