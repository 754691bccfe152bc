import Archives
import CCrypto
import CommandSupport
import Models

/// The plan of a replay, complete before the first request: every user, conversation, message and id.
///
/// All ids follow from the name of the run. A replay that was interrupted and repeated under the same name therefore
/// repeats requests, and the server creates no duplicates.
struct ReplayPlan: Sendable {
    struct Message: Sendable {
        let id: MessageID
        /// The index of a user.
        let sender: Int
        let text: String
        /// The index in the same conversation.
        let parent: Int?
    }

    struct Conversation: Sendable {
        let id: ConversationID
        let title: String
        /// The indexes of users, the creator first.
        let members: [Int]
        /// The members who listen on a WebSocket.
        let listeners: [Int]
        let messages: [Message]

        var creator: Int { members[0] }
    }

    private(set) var users: [UserID] = []
    private(set) var conversations: [Conversation] = []
    private var indices: [String: Int] = [:]

    /// - Parameter listeners: how many members of each conversation listen on a WebSocket.
    init(_ sources: [IRCConversation], run: String, listeners: Int) throws(UsageError) {
        let identifiers = ReplayIdentifiers(run: run, conversations: sources.count)
        for (number, source) in sources.enumerated() where !source.messages.isEmpty {
            conversations.append(try conversation(source, number, identifiers, listeners))
        }
    }

    var messageCount: Int { conversations.reduce(0) { $0 + $1.messages.count } }
    var replyCount: Int { conversations.reduce(0) { $0 + $1.messages.count { $0.parent != nil } } }

    private mutating func conversation(
        _ source: IRCConversation, _ number: Int, _ identifiers: ReplayIdentifiers, _ listeners: Int
    ) throws(UsageError) -> Conversation {
        var members: [Int] = []
        var known: Set<Int> = []
        var messages: [Message] = []
        for (position, message) in source.messages.enumerated() {
            let sender = try user(message.sender)
            if known.insert(sender).inserted { members.append(sender) }
            let id = identifiers.message(position, of: source.name, number)
            messages.append(Message(id: id, sender: sender, text: message.text, parent: message.parent))
        }
        return Conversation(
            id: identifiers.conversation(source.name), title: source.name, members: members,
            listeners: Array(members.prefix(listeners)), messages: messages)
    }

    /// Adds a prefix to names of the input, so that they are unique on the system.
    private mutating func user(_ name: String) throws(UsageError) -> Int {
        if let index = indices[name] { return index }
        guard let user = UserID("irc:\(name)") else { throw UsageError("\"\(name)\" cannot be a user id") }
        indices[name] = users.count
        users.append(user)
        return users.count - 1
    }
}

/// UUIDs of version 7 whose time and random parts follow from the run and the message's index. They ascend roughly in
/// the order of sending, like those of real clients.
struct ReplayIdentifiers {
    let run: String
    /// The number of conversations that take turns.
    let conversations: Int

    func conversation(_ name: String) -> ConversationID {
        ConversationID(UUIDBytes(milliseconds: firstMillisecond, random: hash(name, -1)))
    }

    func message(_ position: Int, of name: String, _ number: Int) -> MessageID {
        let turn = UInt64(position * conversations + number)
        return MessageID(UUIDBytes(milliseconds: firstMillisecond + turn, random: hash(name, position)))
    }

    /// A moment within the three years from November 2023.
    private var firstMillisecond: UInt64 { 1_700_000_000_000 + hash("", -2).0 % 94_608_000_000 }

    private func hash(_ name: String, _ position: Int) -> (UInt64, UInt64) {
        let input = Array("\(run)\u{1F}\(name)\u{1F}\(position)".utf8)
        var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
        SHA256(input, input.count, &digest)
        return digest.withUnsafeBytes {
            ($0.load(as: UInt64.self).bigEndian, $0.load(fromByteOffset: 8, as: UInt64.self).bigEndian)
        }
    }
}
