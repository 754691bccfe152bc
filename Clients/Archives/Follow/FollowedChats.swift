import Models

/// The conversations of the source while it is followed. A chat stays in the conversation that it was in first.
struct FollowedChats {
    struct Conversation {
        let id: ConversationID
        let chat: ChatConversation
        let guids: [String]

        /// Those who have what one sent.
        var others: [UserID] { chat.peer.map { [$0] } ?? chat.members.sorted() }
    }

    let people: ChatPeople
    let all: [Conversation]
    private let indexOfChat: [Int64: Int]

    /// - Parameter isImported: whether unknown conversations have the ids of an import, which takes any UUID.
    init(_ database: ChatDatabase, _ state: FollowState, me: UserID, isImported: Bool = false) throws {
        var report = ArchiveReport()
        people = try ChatPeople(database, me: me, &report)
        let guids = Dictionary(
            try database.sqlite.all(
                "SELECT ROWID, \(database.column("chat", "guid")) FROM chat", read: { ($0.integer(0), $0.text(1)) })
        ) { first, _ in first }
        all = try ChatJoin.conversations(database, people).flatMap { chat in
            try Self.divided(chat, guids, state, isImported)
        }
        var indexOfChat: [Int64: Int] = [:]
        for (index, conversation) in all.enumerated() {
            for chat in conversation.chat.chats { indexOfChat[chat] = index }
        }
        self.indexOfChat = indexOfChat
    }

    subscript(chat: Int64) -> Conversation? { indexOfChat[chat].map { all[$0] } }

    /// Chats that were of different conversations when they came stay in these, whatever joins them now.
    private static func divided(
        _ joined: ChatConversation, _ guids: [Int64: String], _ state: FollowState, _ isImported: Bool
    ) throws -> [Conversation] {
        var known: [Int64: ConversationID] = [:]
        for chat in joined.chats { known[chat] = try guids[chat].flatMap { try state.conversation(ofChat: $0) } }
        let usual =
            joined.chats.lazy.compactMap { known[$0] }.first
            ?? (joined.isGroup && !isImported ? ArchiveID.liveGroup(joined.id) : joined.id)
        return Dictionary(grouping: joined.chats) { known[$0] ?? usual }.map { id, chats in
            var chat = joined
            chat.id = id
            chat.chats = chats
            return Conversation(id: id, chat: chat, guids: chats.compactMap { guids[$0] })
        }
    }
}
