import Foundation
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Whose profile one reads, what a change of it tells, and whom.
@Suite(.timeLimit(.minutes(2)))
struct ProfileTests {
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withStore(
        layout: Layout = .plain, _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    @Reactor private func put(
        _ name: String, url: String = "", extra: String = "", of user: String, key: UUIDBytes? = nil,
        _ store: StoreUnderTest
    ) async -> StoreUnderTest.Reply? {
        let user = UserID(user)!
        return await store.ask(
            .putProfile, in: user.slot, PutProfile(user, key: key, displayName: name, avatarURL: url, extra: extra))
    }

    /// `alice 3 Al` for each profile of the response.
    @Reactor private func read(
        _ users: String..., versions: [Int64] = [], by reader: String, readsAll: Bool = false, _ store: StoreUnderTest
    ) async -> [String]? {
        let reader = UserID(reader)!
        let items = users.enumerated().map { number, user in
            ProfilesQuery.Item(UserID(user)!, version: versions.isEmpty ? 0 : versions[number])
        }
        let query = ProfilesQuery(reader: reader, readsAll: readsAll, items)
        let profiles = await store.ask(.profiles, in: reader.slot, query)?.field("profiles") as? [NSDictionary]
        return profiles?.map { profile in
            ["userId", "version", "displayName"].compactMap { profile[$0].map { "\($0)" } }.joined(separator: " ")
        }
    }

    @Test("a profile is replaced as a whole, and its version grows when something changed")
    @Reactor func replaced() async throws {
        try await withStore { store in
            #expect(await put("", of: "bob", store)?.field("version") as? Int == 0)
            let first = await put(
                "Bob \"B\"", url: "https://a/b", extra: #"{"a": [1.50, "é"]}"#, of: "bob", store)
            guard case .json(200, let text)? = first else {
                return #expect(Bool(false), "\(String(describing: first))")
            }
            #expect(
                text
                    == #"{"userId":"bob","version":1,"displayName":"Bob \"B\"","avatarUrl":"https://a/b","extra":{"a": [1.50, "é"]}}"#
            )
            #expect(await put("Bobby", of: "bob", store)?.field("version") as? Int == 2)
            let last = await put("Bobby", of: "bob", store)
            #expect(last?.field("version") as? Int == 2 && last?.field("avatarUrl") == nil)
            #expect(await put("", of: "bob", store)?.field("version") as? Int == 3)
            #expect(await read("bob", by: "alice", store) == ["bob 3"])
            let told = store.privateChanges.filter { $0.json.contains(#""kind":"profile.changed""#) }
            #expect(told.map(\.user.name) == ["bob", "bob", "bob"])
            #expect(told.map { $0.json.contains(#""profileVersion":"#) } == [true, true, true])
        }
    }

    @Test(
        "a client that names its versions gets what differs: nothing of strangers, whatever it names",
        arguments: [
            Layout.plain, .partitions(8),
        ])
    @Reactor func versions(layout: Layout) async throws {
        try await withStore(layout: layout) { store in
            for user in ["alice", "bob", "mallory"] { _ = await put("The \(user)", of: user, store) }
            #expect(
                await read("mallory", "bob", "alice", "nobody", by: "alice", store) == [
                    "bob 1 The bob", "alice 1 The alice",
                ])
            #expect(await read("bob", "mallory", versions: [1, 0], by: "alice", store) == [])
            #expect(
                await read("bob", "mallory", "nobody", versions: [7, 1, 2], by: "alice", store) == [
                    "bob 1 The bob", "mallory 0", "nobody 0",
                ])
            #expect(await read("alice", "bob", by: "mallory", store) == [])
            #expect(
                await read("alice", "bob", by: "mallory", readsAll: true, store) == [
                    "alice 1 The alice", "bob 1 The bob",
                ])
        }
    }

    @Test("one reads those whose stays overlap one's own: not of who came after, nor of who went before")
    @Reactor func overlap() async throws {
        try await withStore { store in
            for user in ["bob", "carol", "dora"] { _ = await put(user.uppercased(), of: user, store) }
            let (carol, dora) = (UserID("carol")!, UserID("dora")!)
            _ = await store.write(.putMember(carol, nil), by: "alice", in: conversation)
            _ = await store.write(.removeMember(carol), by: "alice", in: conversation)
            _ = await store.write(.putMember(dora, nil), by: "alice", in: conversation)
            #expect(await read("bob", "dora", by: "carol", store) == ["bob 1 BOB"])
            #expect(await read("bob", "carol", by: "dora", store) == ["bob 1 BOB"])
            #expect(await read("carol", "dora", by: "bob", store) == ["carol 1 CAROL", "dora 1 DORA"])
            _ = await put("Carol", of: "carol", store)
            #expect(await read("carol", by: "bob", store) == ["carol 2 Carol"])
        }
    }

    @Test("to who is blocked nothing changes; who blocks is not shown to those whom only others think them with")
    @Reactor func blocked() async throws {
        try await withStore { store in
            let pair = ConversationID(.random), bob = UserID("bob")!
            _ = await put("Alice", of: "alice", store)
            _ = await put("Bob", of: "bob", store)
            _ = await store.write(.block(bob, true), by: "carol", in: ConversationID(.random))
            _ = await put("Carol", of: "carol", store)
            // Known to bob and alice as a member, and a stranger to herself.
            _ = await store.write(.putMember(UserID("carol")!, nil), by: "bob", in: conversation)
            #expect(await read("carol", by: "bob", store) == ["carol 1 Carol"])
            #expect(await read("carol", by: "alice", store) == ["carol 1 Carol"])
            #expect(await read("alice", "bob", by: "carol", store) == [])
            _ = await store.ask(
                .createConversation, in: pair.slot,
                CreateConversation(
                    conversation: pair, kind: .direct, creator: bob, title: "", members: [UserID("alice")!]))
            _ = await store.write(.block(bob, true), by: "alice", in: pair)
            _ = await put("Alice B", of: "alice", store)
            #expect(await read("alice", by: "bob", store) == ["alice 2 Alice B"])
            #expect(
                await store.eventually {
                    store.profileNews.filter { $0.user.name == "alice" && $0.version == 2 }
                        .flatMap(\.conversations).contains(pair)
                })
        }
    }

    @Test("of two users the list of either may be the longer one")
    @Reactor func manyConversations() async throws {
        try await withStore { store in
            _ = await put("Bob", of: "bob", store)
            _ = await put("Alice", of: "alice", store)
            for user in ["bob", "mallory"] {
                try store.database.execute(
                    """
                    INSERT INTO store.inbox (user_slot, user_id, conversation_id, slot)
                    SELECT \(UserID(user)!.slot.number), '\(user)', gen_random_uuid(), 7
                    FROM generate_series(1, \(ProfileStatements.fewConversations))
                    """)
            }
            #expect(await read("bob", by: "alice", store) == ["bob 1 Bob"])
            #expect(await read("alice", by: "bob", store) == ["alice 1 Alice"])
            #expect(await read("bob", "alice", by: "mallory", store) == [])
        }
    }

    @Test("open clients are told in the conversations in which the user is, once of changes that come quickly")
    @Reactor func told() async throws {
        try await withStore { store in
            let left = ConversationID(.random)
            _ = await store.create(left, by: "alice", with: ["bob"])
            _ = await store.write(.removeMember(UserID("bob")!), by: "bob", in: left)
            for number in 1...5 { _ = await put("Bob \(number)", of: "bob", store) }
            #expect(await store.eventually { store.profileNews.last?.version == 5 })
            #expect(store.profileNews.allSatisfy { $0.user.name == "bob" && $0.conversations == [conversation] })
            let versions = store.profileNews.map(\.version)
            #expect(versions == versions.sorted() && Set(versions).count == versions.count)
            #expect(store.store.profiles.waitingCount == 0)
        }
    }

    @Test("a key serves one profile")
    @Reactor func key() async throws {
        try await withStore { store in
            let key = UUIDBytes.random
            #expect(await put("Bob", of: "bob", key: key, store)?.field("version") as? Int == 1)
            _ = await put("Robert", of: "bob", store)
            #expect(await put("Bob", of: "bob", key: key, store)?.field("displayName") as? String == "Robert")
            let settings = await store.put(readReceipts: .no, by: "bob", key: key)
            #expect(settings?.status == 409)
        }
    }

    @Test("an erased user has no profile from then on")
    @Reactor func erased() async throws {
        try await withStore { store in
            _ = await put("Bob", of: "bob", store)
            let bob = UserID("bob")!
            #expect(await store.ask(.eraseUser, in: bob.slot, EraseUser(bob))?.status == 202)
            #expect(await read("bob", versions: [1], by: "alice", store) == ["bob 0"])
            let rows = try store.database.query("SELECT FROM store.profiles")
            #expect(rows.isEmpty)
            #expect(await put("Bob", of: "bob", store)?.status == 401)
        }
    }
}
