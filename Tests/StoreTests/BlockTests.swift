import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Who blocks closes their own view. To all others they are a member who is away.
@Suite(.timeLimit(.minutes(2)))
struct BlockTests {
    let direct = ConversationID(.random)
    let group = ConversationID(.random)

    init() { ReactorThread.start() }

    /// alice and bob have a direct conversation with a message of each, at 2 and 3.
    @Reactor private func withPair(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        #expect(await create(by: "bob", store) == 201)
        for sender in ["alice", "bob"] {
            #expect(await store.send(.init(text: "by \(sender)"), from: sender, to: direct).first?.status == 201)
        }
        try await body(store)
    }

    @Reactor private func create(by creator: String, _ store: StoreUnderTest) async -> UInt16? {
        let other = UserID(creator == "bob" ? "alice" : "bob")!
        return await store.ask(
            .createConversation, in: direct.slot,
            CreateConversation(
                conversation: direct, kind: .direct, creator: UserID(creator)!, title: "", members: [other]))?.status
    }

    @Reactor private func block(
        _ user: String = "bob", _ isBlocked: Bool = true, by actor: String = "alice", _ store: StoreUnderTest
    ) async -> UInt16? {
        await store.write(.block(UserID(user)!, isBlocked), by: actor, in: direct)?.status
    }

    @Reactor private func windows(of user: String, _ store: StoreUnderTest) async -> NSArray? {
        await store.conversation(direct, for: user)?.field("windows") as? NSArray
    }

    @Reactor private func texts(of user: String, in conversation: ConversationID, _ store: StoreUnderTest) async
        -> [String]
    {
        let query = HistoryQuery(ConversationQuery(conversation, reader: UserID(user)!), anchor: .latest, limit: 50)
        let reply = await store.ask(.history, in: conversation.slot, query)
        return (reply?.field("messages") as? [NSDictionary] ?? []).compactMap { $0["text"] as? String }
    }

    @Reactor private func members(of conversation: ConversationID, for reader: String, _ store: StoreUnderTest) async
        -> NSArray?
    {
        let query = MembersQuery(ConversationQuery(conversation, reader: UserID(reader)!), after: "", limit: 10)
        return await store.ask(.members, in: conversation.slot, query)?.field("members") as? NSArray
    }

    @Test("the blocker sees nothing from the block on, and neither do later eyes; the other sees no difference")
    @Reactor func closed() async throws {
        try await withPair { store in
            let row = "SELECT xmin::text, last_seq, last_at::text FROM store.conversations"
            let before = try store.database.query(row)[0][0] as String
            let shown = await members(of: direct, for: "bob", store)
            #expect(await block("bob", true, store) == 204)
            #expect(try store.database.query(row)[0][0] as String == before)
            #expect(await members(of: direct, for: "bob", store) == shown)
            let sent = await store.send(.init(text: "unseen"), from: "bob", to: direct).first
            #expect(sent?.status == 201 && sent?.field("recipientCount") as? Int == 1)
            #expect(await texts(of: "alice", in: direct, store) == ["by alice", "by bob"])
            #expect(await windows(of: "alice", store) == [["from": 1, "to": 3]])
            #expect(await store.send(.init(text: "no"), from: "alice", to: direct).first?.status == 403)
            #expect(await block("bob", false, store) == 204)
            #expect(await texts(of: "alice", in: direct, store) == ["by alice", "by bob"])
            _ = await store.send(.init(text: "seen"), from: "bob", to: direct)
            #expect(await texts(of: "alice", in: direct, store) == ["by alice", "by bob", "seen"])
            #expect(await windows(of: "alice", store) == [["from": 1, "to": 3], ["from": 5]])
            #expect(await windows(of: "bob", store) == [["from": 1]])
            #expect(await members(of: direct, for: "bob", store) == shown)
            #expect(await store.send(.init(text: "yes"), from: "alice", to: direct).first?.status == 201)
        }
    }

    @Test(
        "blocking again before anything came is as if it had never been opened; each step is told to the blocker alone")
    @Reactor func again() async throws {
        try await withPair { store in
            for isBlocked in [true, true, false, false, true] { #expect(await block("bob", isBlocked, store) == 204) }
            #expect(await windows(of: "alice", store) == [["from": 1, "to": 3]])
            let told = { (user: String) in
                store.privateChanges.filter { $0.user.name == user && $0.json.contains(#""kind":"blocked""#) }
            }
            #expect(await store.eventually { told("alice").count == 3 })
            #expect(told("alice").allSatisfy { $0.json.contains(#""userId":"bob""#) })
            #expect(told("alice").map { $0.json.contains(#""blocked":true"#) } == [true, false, true])
            #expect(told("bob").isEmpty)
            let list = await store.ask(.blocks, in: UserID("alice")!.slot, SettingsQuery(UserID("alice")!))
            #expect((list?.field("users") as? [NSDictionary])?.map { $0["userId"] as? String } == ["bob"])
        }
    }

    @Test(
        "who is blocked creates a conversation as ever, and the blocker has it after unblocking, without what came before"
    )
    @Reactor func created() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        #expect(await block("bob", true, store) == 204)
        #expect(await create(by: "alice", store) == 409)
        #expect(await create(by: "bob", store) == 201)
        _ = await store.send(.init(text: "unseen"), from: "bob", to: direct)
        #expect(await store.conversation(direct, for: "alice")?.status == 404)
        #expect(await members(of: direct, for: "bob", store)?.count == 2)
        #expect(await block("bob", false, store) == 204)
        _ = await store.send(.init(text: "seen"), from: "bob", to: direct)
        #expect(await texts(of: "alice", in: direct, store) == ["seen"])
        #expect(await windows(of: "alice", store) == [["from": 3]])
    }

    @Test(
        "added to a group by who is blocked, the blocker is a member to the others alone, until somebody else adds them"
    )
    @Reactor func added() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        #expect(await block("bob", true, store) == 204)
        _ = await store.create(group, by: "bob", with: ["carol"])
        let add = Write.Action.putMember(UserID("alice")!, nil)
        #expect(await store.write(add, by: "bob", in: group)?.status == 200)
        #expect(await store.conversation(group, for: "alice")?.status == 404)
        #expect(await store.conversation(group, for: "carol")?.field("memberCount") as? Int == 3)
        #expect(await members(of: group, for: "carol", store)?.count == 3)
        #expect(await store.write(add, by: "bob", in: group)?.status == 200)
        #expect(await store.conversation(group, for: "alice")?.status == 404)
        let last = await store.conversation(group, for: "carol")?.field("lastSeq") as? Int
        #expect(await store.write(add, by: "carol", in: group)?.status == 200)
        #expect(await store.conversation(group, for: "carol")?.field("lastSeq") as? Int == last)
        #expect(await store.send(.init(text: "here"), from: "alice", to: group).first?.status == 201)
        #expect(await texts(of: "alice", in: group, store) == ["here"])
        #expect(await store.write(.removeMember(UserID("alice")!), by: "bob", in: group)?.status == 204)
        #expect(await store.conversation(group, for: "carol")?.field("memberCount") as? Int == 2)
        #expect(await store.send(.init(text: "no"), from: "alice", to: group).first?.status == 403)
    }

    @Test("a key serves one block; nobody blocks more than there may be")
    @Reactor func limits() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let key = UUIDBytes.random
        let bob = UserID("bob")!
        for _ in 0..<2 {
            #expect(await store.write(.block(bob, true), by: "alice", in: direct, key: key)?.status == 204)
        }
        #expect(await store.write(.block(bob, false), by: "alice", in: direct, key: key)?.status == 409)
        try store.database.execute(
            """
            INSERT INTO store.blocks (user_slot, user_id, blocked_id, at)
            SELECT b.user_slot, 'alice', 'user' || n, now() FROM store.blocks b, generate_series(2, 1000) n
            """)
        let other = ConversationID(.random)
        #expect(await store.write(.block(UserID("carol")!, true), by: "alice", in: other)?.status == 409)
        #expect(await store.write(.block(bob, false), by: "alice", in: direct)?.status == 204)
        #expect(await store.write(.block(UserID("carol")!, true), by: "alice", in: other)?.status == 204)
    }
}
