import Foundation
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// A client's copy of a conversation, built from pages, changes and private changes in any order.
private struct Replica: Equatable {
    /// A reader's view of one position.
    struct Item: Equatable {
        var changeSeq: Int
        var summary: String
    }

    var items: [Int: Item] = [:]
    /// The reader's read position, and their settings for receipts and presence.
    var readSeq = 0
    var settings = ["readReceipts": true, "presence": true]
    /// The setting for this conversation. Nil means that the reader's general setting applies.
    private var ownReadReceipts: Bool?
    private var hidden: Set<String> = []
    private var cleared = 0
    /// Positions by id, to remove hidden messages.
    private var seqs: [String: Int] = [:]
    /// The reader's stays, as reported by changes.
    private var stays: [ClosedRange<Int>] = []
    /// Changes that carried a message from outside the stays.
    private(set) var faults: [Int] = []

    static func == (left: Self, right: Self) -> Bool {
        left.items == right.items && left.readSeq == right.readSeq && left.settings == right.settings
            && left.sendsReadReceipts == right.sendsReadReceipts
    }

    private var sendsReadReceipts: Bool { ownReadReceipts ?? settings["readReceipts"] ?? true }

    /// Takes a message from a page or a change. The state with the higher `changeSeq` is the newer one.
    mutating func take(message: [String: Any]) {
        guard let seq = message["seq"] as? Int, let id = message["id"] as? String else { return }
        seqs[id] = seq
        guard !hidden.contains(id), seq > cleared else { return }
        let changeSeq = message["changeSeq"] as? Int ?? 0
        if let known = items[seq], known.changeSeq >= changeSeq { return }
        items[seq] = Item(changeSeq: changeSeq, summary: Self.summary(message))
    }

    private static func summary(_ message: [String: Any]) -> String {
        if let event = message["event"] as? [String: Any] { return summary(event: event, kind: event["kind"]) }
        let counts = (message["tapbackCounts"] as? [String: Int] ?? [:]).sorted { $0.key < $1.key }
        let mentions = message["mentions"] as? [String] ?? []
        return "\(message["text"] ?? "") \(message["deletedForEveryone"] ?? "") \(counts) \(mentions)"
    }

    private static func summary(event: [String: Any], kind: Any?) -> String {
        "\(kind ?? "") \(event["userId"] ?? "") \(event["title"] ?? "")"
    }

    /// Takes a change. A change of a message outside the reader's stays comes without the message.
    ///
    /// - Returns: whether a new stay began after another one, so that what is known of the earlier one must be read
    ///   again.
    mutating func take(change: [String: Any], for reader: String) -> Bool {
        guard let seq = change["seq"] as? Int, let kind = change["kind"] as? String else { return false }
        if let message = change["message"] as? [String: Any] {
            let place = message["seq"] as? Int ?? 0
            if !stays.contains(where: { $0.contains(place) }) { faults.append(seq) }
            take(message: message)
            return false
        }
        guard kind.hasPrefix("member.") || kind.hasPrefix("conversation.") else { return false }
        let isReader = change["userId"] as? String == reader
        if kind == "conversation.created" || kind == "member.added" && isReader { stays.append(seq...Int.max) }
        if kind == "member.removed", isReader, let stay = stays.popLast() { stays.append(stay.lowerBound...seq) }
        show(change, kind, at: seq)
        return kind == "member.added" && isReader && stays.count > 1
    }

    private mutating func show(_ change: [String: Any], _ kind: String, at seq: Int) {
        guard seq > cleared, kind != "conversation.created" else { return }
        items[seq] = Item(changeSeq: seq, summary: Self.summary(event: change, kind: kind))
    }

    mutating func take(privately change: [String: Any]) {
        switch change["kind"] as? String {
        case "message.hidden":
            guard let id = change["messageId"] as? String else { return }
            hidden.insert(id)
            if let seq = seqs[id] { items[seq] = nil }
        case "history.cleared":
            cleared = max(cleared, change["throughSeq"] as? Int ?? 0)
            items = items.filter { $0.key > cleared }
        case "read.moved": readSeq = max(readSeq, change["readSeq"] as? Int ?? 0)
        case "settings.changed": take(settings: change, ofConversation: change["conversationId"] != nil)
        default: break
        }
    }

    /// Takes settings from a change or a response.
    mutating func take(settings fields: [String: Any], ofConversation: Bool) {
        let readReceipts = fields["readReceipts"] as? Bool
        if ofConversation {
            ownReadReceipts = (fields["inherited"] as? [String])?.isEmpty == true ? readReceipts : nil
        } else {
            settings = ["readReceipts": readReceipts ?? true, "presence": fields["presence"] as? Bool ?? true]
        }
    }
}

/// A client that follows one conversation as one user.
@Reactor
private final class Follower {
    private let store: StoreUnderTest
    private let conversation: ConversationID
    private let user: UserID
    private var seq: Int64 = 0
    private var useq: Int64 = 0
    var replica = Replica()

    init(_ store: StoreUnderTest, _ conversation: ConversationID, _ user: String) {
        self.store = store
        self.conversation = conversation
        self.user = UserID(user)!
    }

    private var head: ConversationQuery { ConversationQuery(conversation, reader: user) }

    /// Fetches what is new, in small pages. Sometimes it reads a page of history first, like a client that opens the
    /// conversation before catching up.
    func catchUp(using random: inout SeededRandom) async {
        if Bool.random(using: &random) { await readHistory(limit: 7) }
        if Bool.random(using: &random) { await takePrivateChanges() }
        while await takeChanges() {}
        await takePrivateChanges()
    }

    private func takeChanges() async -> Bool {
        let query = AfterPositionQuery(head, after: seq, limit: 5)
        guard let reply = await store.ask(.changes, in: conversation.slot, query), reply.status == 200 else {
            return false
        }
        for change in reply.field("changes") as? [[String: Any]] ?? [] {
            if replica.take(change: change, for: user.name) { await readHistory() }
            seq = Int64(change["seq"] as? Int ?? 0)
        }
        return reply.field("more") as? Bool ?? false
    }

    private func takePrivateChanges() async {
        let query = SyncCursor(
            logID: await store.logID(), useq: useq, transaction: 1, nextTransaction: 1, after: ConversationID(.zero))
        let reply = await store.ask(.sync, in: user.slot, SyncQuery(user, since: query))
        for change in reply?.field("private") as? [[String: Any]] ?? [] {
            if change["conversationId"] as? String ?? conversation.description == conversation.description {
                replica.take(privately: change)
            }
            useq = Int64(change["useq"] as? Int ?? 0)
        }
    }

    /// Reads what a new client requests in addition to the history.
    func readSettings() async {
        let own = await store.ask(.settings, in: user.slot, SettingsQuery(user))
        replica.take(
            settings: ["readReceipts": own?.field("readReceipts") as Any, "presence": own?.field("presence") as Any],
            ofConversation: false)
        let here = await store.settings(of: user.name, in: conversation)
        replica.take(
            settings: [
                "readReceipts": here?.field("readReceipts") as Any, "inherited": here?.field("inherited") as Any,
            ],
            ofConversation: true)
    }

    func readHistory(limit: UInt16 = 200) async {
        let reply = await store.history(conversation, for: user.name, limit: limit)
        for message in reply?.field("messages") as? [[String: Any]] ?? [] { replica.take(message: message) }
    }
}

@Suite(.timeLimit(.minutes(3)))
struct ConvergenceTests {
    init() { ReactorThread.start() }

    private static let users = ["alice", "bob", "carol", "dave"]

    /// A failure prints its seed, and that seed alone reproduces it.
    @Test("whoever was away for any time sees what somebody sees who starts anew", arguments: UInt64(1)...6)
    @Reactor func convergence(seed: UInt64) async throws {
        try await converge(seed: seed)
    }

    @Test("and so does whoever was away while a member was erased", arguments: UInt64(1)...4)
    @Reactor func convergenceBehindErasure(seed: UInt64) async throws {
        try await converge(seed: seed, erasing: "bob")
    }

    @Reactor private func converge(seed: UInt64, erasing erased: String? = nil) async throws {
        var random = SeededRandom(seed: seed)
        let store = try await StoreUnderTest(layout: seed > 4 ? .partitions(8) : .plain)
        defer { store.close() }
        if erased != nil { try await store.startReceipt() }
        let conversation = ConversationID(.random)
        _ = await store.create(conversation, by: "alice", with: ["bob", "carol"])
        let followers = Self.users.map { ($0, Follower(store, conversation, $0)) }
        var messages: [MessageID] = []
        // What `receipt` has stored and reports.
        var reads: [String: Int64] = [:]
        for _ in 0..<60 {
            await step(store, conversation, &messages, using: &random)
            await decideOrRead(store, conversation, &reads, using: &random)
            for (_, follower) in followers where Int.random(in: 0..<6, using: &random) == 0 {
                await follower.catchUp(using: &random)
            }
        }
        for (user, follower) in followers { #expect(follower.replica.faults == [], "\(user), seed \(seed)") }
        if let erased { try await erase(erased, store) }
        for (user, follower) in followers where await isMember(user, of: conversation, store) {
            await follower.catchUp(using: &random)
            let fresh = Follower(store, conversation, user)
            await fresh.readHistory()
            await fresh.readSettings()
            fresh.replica.readSeq = Int(reads[user] ?? 0)
            #expect(follower.replica == fresh.replica, "\(user), seed \(seed)")
        }
    }

    @Reactor private func erase(_ name: String, _ store: StoreUnderTest) async throws {
        let user = UserID(name)!
        while await store.ask(.eraseUser, in: user.slot, EraseUser(user))?.status != 200 {
            await Reactor.sleep(for: .milliseconds(10))
        }
    }

    /// Whether a user is a member. A former member keeps what they had and gets no later changes.
    @Reactor private func isMember(_ user: String, of conversation: ConversationID, _ store: StoreUnderTest) async
        -> Bool
    {
        let windows = await store.conversation(conversation, for: user)?.field("windows") as? [[String: Any]]
        return windows?.last?["to"] == nil && windows != nil
    }

    /// Sometimes lets an actor change their settings, here or in general, or read further.
    @Reactor private func decideOrRead(
        _ store: StoreUnderTest, _ conversation: ConversationID, _ reads: inout [String: Int64],
        using random: inout SeededRandom
    ) async {
        let actor = UserID(Self.users.randomElement(using: &random)!)!
        let decision = [SettingChange.inherit, .no, .yes].randomElement(using: &random)!
        switch Int.random(in: 0..<6, using: &random) {
        case 0: _ = await store.write(.putSettings(readReceipts: decision), by: actor.name, in: conversation)
        case 1: _ = await store.put(readReceipts: decision, by: actor.name)
        case 2: _ = await store.put(presence: decision, by: actor.name)
        case 3 where actor.name != "dave":  // dave may never have been a member.
            let seq = Int64.random(in: 1..<100, using: &random)
            reads[actor.name] = max(reads[actor.name] ?? 0, seq)
            _ = await store.ask(
                .readMoved, in: actor.slot, ReadPositions([ReadPositions.Entry(actor, conversation, readSeq: seq)]))
        default: break
        }
    }

    /// Lets a random user do one random thing. Much of it is refused, which must change nothing.
    @Reactor private func step(
        _ store: StoreUnderTest, _ conversation: ConversationID, _ messages: inout [MessageID],
        using random: inout SeededRandom
    ) async {
        let actor = Self.users.randomElement(using: &random)!
        let other = UserID(Self.users.randomElement(using: &random)!)!
        let message = messages.randomElement(using: &random) ?? MessageID(.random)
        let action: Write.Action
        switch Int.random(in: 0..<14, using: &random) {
        case 0: action = .edit(message, text: "edited \(Int.random(in: 0..<100, using: &random))")
        case 1: action = .deleteForEveryone(message)
        case 2: action = .hide(message)
        case 3, 4: action = .setTapback(message, ["love", "like", "🎉"].randomElement(using: &random)!)
        case 5: action = .removeTapback(message)
        case 6: action = .putMember(other, nil)
        case 7: action = .removeMember(other)
        case 8: action = .rename("title \(Int.random(in: 0..<100, using: &random))")
        case 9 where Int.random(in: 0..<3, using: &random) == 0:
            action = .clearHistory(through: Int64.random(in: 0..<30, using: &random))
        default:
            let mentions = ["", "", "bob", "bob,carol"].randomElement(using: &random)!
            let draft = StoreUnderTest.Draft(
                replyTo: Bool.random(using: &random) ? messages.last : nil, mentions: mentions)
            if await store.send(draft, from: actor, to: conversation).first?.status == 201 { messages.append(draft.id) }
            return
        }
        _ = await store.write(action, by: actor, in: conversation)
    }
}
