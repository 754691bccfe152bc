import Models
import ParleyStorage
import ParleySync

/// The members of a conversation.
public struct MembersUpdate: Hashable, Sendable {
    public var members: [Membership]
    /// Whether these are all of them. The rest is being loaded.
    public var isComplete: Bool
}

extension MembersUpdate {
    static func updates(of id: ConversationID, _ observation: ObservationContext) -> Updates<Self> {
        Updates {
            let signal = observation.hub.signal { $0 == .members(id) || $0 == .conversation(id) }
            let observer = Observer<Self>(signal: signal, in: observation) { last, topics in
                let update = try await observation.reader.read { store throws(StorageError) in
                    try store.membersUpdate(of: id)
                }
                // Asked again only when the members have changed: the server may see other ones than the count says.
                let mayAsk = topics.contains(.view) || update != last
                if !update.isComplete, mayAsk { await observation.engine.look(.members(id)) }
                await observation.show(update.members.map(\.userId))
                return update == last ? nil : update
            }
            return { await observer.next() }
        }
    }
}

extension LocalStore {
    /// The members, with what waits in the outbox.
    fileprivate func membersUpdate(of id: ConversationID) throws(StorageError) -> MembersUpdate {
        let known = try members(of: id)
        var members = Dictionary(uniqueKeysWithValues: known.map { ($0.userId, $0) })
        for row in try outbox(of: id) where row.state == .waiting || row.isRefusedCreation {
            switch row.write {
            case .putMember(let user, let role):
                let role = role.flatMap(MemberRole.init(rawValue:))
                var member = members[user] ?? Membership(userId: user, role: .member, joinedSeq: 0)
                if let role { member.role = .known(role) }
                members[user] = member
            case .removeMember(let user): members[user] = nil
            case .createGroup(let users, _):
                for user in users { members[user] = Membership(userId: user, role: .member, joinedSeq: 1) }
                if let own = try userId() { members[own] = Membership(userId: own, role: .owner, joinedSeq: 1) }
            default: break
            }
        }
        let count = try conversation(id)?.memberCount ?? members.count
        return MembersUpdate(
            members: members.values.sorted { $0.userId < $1.userId }, isComplete: known.count >= count)
    }
}

/// How far the user's own latest messages have got.
public struct ReceiptsUpdate: Hashable, Sendable {
    /// The user's own messages among the latest 200 of the conversation, but at most 50.
    public var messages: [MessageID: MessageReceipts]
    /// The last message that the user sent, if it is one of these.
    public var lastSent: MessageID?

    init(_ latest: [(id: MessageID, receipts: MessageReceipts)]) {
        messages = Dictionary(uniqueKeysWithValues: latest.map { ($0.id, $0.receipts) })
        lastSent = latest.first?.id
    }
}

/// What is unread in all conversations that are neither muted nor archived.
public struct UnreadTotal: Hashable, Sendable {
    /// Up to 100 of each conversation are counted.
    public var messages: Int
    /// Those of them that mention the user, by name or with everybody.
    public var mentions = 0
    /// Also those that are marked as unread and have no such messages.
    public var conversations: Int
}

extension UnreadTotal {
    static func updates(_ observation: ObservationContext) -> Updates<Self> {
        Updates {
            let counts = UnreadCounts()
            let signal = observation.hub.signal { if case .conversation = $0 { true } else { false } }
            let observer = Observer<Self>(signal: signal, in: observation) { last, topics in
                let total = try await counts.update(
                    for: topics, from: observation.reader, at: observation.clock.timestamp)
                return total == last ? nil : total
            }
            return { await observer.next() }
        }
    }
}

/// The unread messages by conversation: only those that may have changed are counted again.
private actor UnreadCounts {
    private var counts: [ConversationID: UnreadCount] = [:]

    func update(
        for topics: Set<Topic>, from reader: LocalDatabase, at now: Timestamp
    ) async throws -> UnreadTotal {
        if topics.contains(.everything) || topics.contains(.view) {
            counts = try await reader.read { store throws(StorageError) in try store.unreadCounts(at: now) }
        } else {
            let changed = topics.compactMap { topic in
                if case .conversation(let id) = topic { id } else { nil }
            }
            let new = try await reader.read { store throws(StorageError) in
                var new: [(id: ConversationID, count: UnreadCount?)] = []
                for id in changed { new.append((id, try store.unreadCount(of: id, at: now))) }
                return new
            }
            for (id, count) in new { counts[id] = count }
        }
        return UnreadTotal(
            messages: counts.values.reduce(0) { $0 + $1.messages },
            mentions: counts.values.reduce(0) { $0 + $1.mentions }, conversations: counts.count)
    }
}

extension ObservationContext {
    /// The settings in a conversation, with what waits in the outbox. They are loaded if the copy has none.
    func settings(in id: ConversationID) async throws -> SettingsInConversation? {
        let stored = try await reader.read { store throws(StorageError) in try store.settings(in: id) }
        if let stored { return stored }
        guard let loaded = try? await engine.ask(.settings(in: id)) else { return nil }
        try await engine.keep([.settingsInConversation(id, loaded)])
        return loaded
    }
}

/// What a comparison of a copy with the server has found, by pages of the history.
public struct CopyComparison: Hashable, Sendable {
    public var equalPages = 0
    /// They are loaded again when somebody looks at them.
    public var differentPages = 0
    /// Of these the copy does not have every message, or it is at another position than the server at the moment.
    public var unknownPages = 0

    public init() {}

    mutating func count(_ comparison: DigestComparison) {
        switch comparison {
        case .equal: equalPages += 1
        case .different: differentPages += 1
        case .notComparable: unknownPages += 1
        }
    }
}
