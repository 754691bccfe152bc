import Models

/// A conversation of a `chat.db`, made of one chat or several: Messages has one for each service.
struct ChatConversation {
    var id: ConversationID
    /// The other user; nil of a group.
    var peer: UserID?
    var title: String?
    /// The members now, without oneself.
    var members: Set<UserID>
    var chats: [Int64]

    var isGroup: Bool { peer == nil }

    /// For `json_each`, which takes any number of them.
    var chatList: String { "[\(chats.map(String.init).joined(separator: ","))]" }
}

/// Finds which chats are one conversation:
///
/// - with one person: those with the same person;
/// - groups: those with the same `group_id` or `chat_identifier`, and those of another service with the same members whose
///   titles do not differ.
struct ChatJoin {
    private struct Chat {
        let row: Int64
        let guid: String
        let identifier: String
        let service: String
        let title: String?
        let groupIDs: [String]
        let style: Int64
        var members: Set<UserID>

        /// Groups have a `+` in their GUID. The number for it in `style` is 43, and 45 for one person.
        var isGroup: Bool {
            let fields = guid.split(separator: ";", maxSplits: 2, omittingEmptySubsequences: false)
            return fields.count == 3 && ["+", "-"].contains(fields[1]) ? fields[1] == "+" : style == 43
        }
    }

    private let me: UserID
    private var direct: [UserID: ChatConversation] = [:]
    private var groups: [ChatConversation] = []
    private var groupOf: [String: Int] = [:]
    private var services: [Set<String>] = []

    static func conversations(_ database: ChatDatabase, _ people: ChatPeople) throws -> [ChatConversation] {
        var join = ChatJoin(me: people.me)
        for chat in try chats(database, people) { join.add(chat) }
        return (Array(join.direct.values) + join.groups).sorted { $0.chats[0] < $1.chats[0] }
    }

    private init(me: UserID) { self.me = me }

    private static func chats(_ database: ChatDatabase, _ people: ChatPeople) throws -> [Chat] {
        var members: [Int64: Set<UserID>] = [:]
        if database.has("chat_handle_join") {
            try database.sqlite.rows("SELECT chat_id, handle_id FROM chat_handle_join") { row in
                guard let user = people[row.integer(1)] else { return }
                members[row.integer(0), default: []].insert(user)
            }
        }
        let columns = [
            "guid", "chat_identifier", "service_name", "display_name", "group_id", "original_group_id", "style",
        ]
        .map { database.column("chat", $0) }.joined(separator: ", ")
        return try database.sqlite.all("SELECT ROWID, \(columns) FROM chat ORDER BY ROWID") { row in
            Chat(
                row: row.integer(0), guid: row.text(1), identifier: row.text(2), service: row.text(3),
                title: row.text(4).isEmpty ? nil : row.text(4),
                groupIDs: [row.text(5), row.text(6)].filter { !$0.isEmpty }, style: row.integer(7),
                members: members[row.integer(0)] ?? [])
        }
    }

    private mutating func add(_ chat: Chat) {
        guard let peer = peer(of: chat) else { return addGroup(chat) }
        if direct[peer] != nil {
            direct[peer]!.chats.append(chat.row)
        } else {
            direct[peer] = ChatConversation(
                id: ArchiveID.direct(me, peer), peer: peer, title: nil, members: [peer], chats: [chat.row])
        }
    }

    /// Nil for a group, and for notes to oneself: a direct conversation has two users.
    private func peer(of chat: Chat) -> UserID? {
        guard !chat.isGroup else { return nil }
        let peer = chat.members.count == 1 ? chat.members.first! : ChatPeople.user(chat.identifier)
        return peer == me ? nil : peer
    }

    private mutating func addGroup(_ chat: Chat) {
        let names =
            chat.groupIDs.map { "id \($0.lowercased())" } + ["chat \(chat.isGroup ? chat.identifier : "oneself")"]
        let index = names.compactMap { groupOf[$0] }.first ?? sameMembers(as: chat) ?? newGroup(chat)
        groups[index].chats.append(chat.row)
        groups[index].members.formUnion(chat.members.subtracting([me]))
        groups[index].title = groups[index].title ?? chat.title
        services[index].insert(chat.service)
        for name in names where groupOf[name] == nil { groupOf[name] = index }
    }

    private func sameMembers(as chat: Chat) -> Int? {
        guard chat.members.count > 1 else { return nil }
        return groups.indices.first { index in
            let group = groups[index]
            let titlesDiffer = group.title != nil && chat.title != nil && group.title != chat.title
            return group.members == chat.members && !services[index].contains(chat.service) && !titlesDiffer
        }
    }

    private mutating func newGroup(_ chat: Chat) -> Int {
        let id =
            chat.groupIDs.first.map(ArchiveID.group)
            ?? ArchiveID.group("\(me)\0\(chat.isGroup ? chat.guid : "oneself")")
        groups.append(ChatConversation(id: id, title: nil, members: [], chats: []))
        services.append([])
        return groups.count - 1
    }
}
