import Foundation
import Models
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.timeLimit(.minutes(2)))
struct ReadPositionTests {
    init() { ReactorThread.start() }

    private let alice = UserID("alice")!
    private let bob = UserID("bob")!

    /// Returns the read positions on a user's private stream, from its start.
    @Reactor private func told(_ user: UserID, by store: StoreUnderTest) async -> [[String: Any]] {
        let start = SyncCursor(
            logID: await store.logID(), useq: 0, transaction: 1, nextTransaction: 1, after: ConversationID(.zero))
        let reply = await store.ask(.sync, in: user.slot, SyncQuery(user, since: start))
        let changes = reply?.field("private") as? [[String: Any]] ?? []
        return changes.filter { $0["kind"] as? String == "read.moved" }
    }

    @Reactor private func tell(_ store: StoreUnderTest, _ entries: ReadPositions.Entry...) async -> UInt16? {
        await store.ask(.readMoved, in: entries[0].user.slot, ReadPositions(entries))?.status
    }

    @Test("a read position is told to its user's devices once, and only forwards")
    @Reactor func forwardsOnly() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let conversation = ConversationID(.random)
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        for seq in [3, 3, 2, 7, 3] {
            #expect(await tell(store, .init(bob, conversation, readSeq: Int64(seq))) == 204)
        }
        #expect(await told(bob, by: store).map { $0["readSeq"] as? Int } == [3, 7])
        #expect(
            await told(bob, by: store).map { $0["conversationId"] as? String == conversation.description } == [
                true, true,
            ])
        #expect(await told(bob, by: store).map { $0["useq"] as? Int } == [2, 3])
        #expect(await told(alice, by: store).isEmpty)
    }

    @Test("of several positions of one conversation in a request the highest is told")
    @Reactor func highest() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let (first, second) = (ConversationID(.random), ConversationID(.random))
        _ = await store.create(first, by: "alice", with: ["bob"])
        _ = await store.create(second, by: "alice", with: ["bob"])
        let status = await tell(
            store, .init(bob, first, readSeq: 4), .init(bob, second, readSeq: 2), .init(bob, first, readSeq: 5),
            .init(bob, first, readSeq: 1))
        #expect(status == 204)
        #expect(Set(await told(bob, by: store).map { $0["readSeq"] as? Int }) == [2, 5])
        #expect(await told(bob, by: store).map { $0["useq"] as? Int } == [3, 4])
    }

    @Test("who is not in a conversation is passed over")
    @Reactor func stranger() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let conversation = ConversationID(.random)
        _ = await store.create(conversation, by: "alice", with: [])
        #expect(await tell(store, .init(bob, conversation, readSeq: 1)) == 204)
        #expect(await tell(store, .init(bob, ConversationID(.random), readSeq: 1)) == 204)
        #expect(await told(bob, by: store).isEmpty)
    }

    @Test("what is announced and what is replayed are the same, and the digest tells the position")
    @Reactor func announced() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let conversation = ConversationID(.random)
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        _ = await tell(store, .init(bob, conversation, readSeq: 9))
        #expect(await store.eventually { store.privateChanges.contains { $0.user == bob && $0.useq == 2 } })
        let json = try #require(store.privateChanges.last { $0.user == bob }?.json)
        let live = try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary)
        let replayed = try #require(await told(bob, by: store).first)
        #expect(live == replayed as NSDictionary)
        let position = StreamPosition(.user(bob), 2)
        #expect(
            await store.eventually { store.digests.contains { $0.slot == bob.slot && $0.moved.contains(position) } })
    }

    @Test("a crowd that reads while it is repeated gets dense positions, each told once")
    @Reactor func crowd() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let users = (0..<300).map { UserID("user\($0)")! }
        let conversation = ConversationID(.random)
        _ = await store.create(conversation, by: "alice", with: users.map(\.name))
        let bySlot = Dictionary(grouping: users, by: \.slot)
        var tellings: [Task<UInt16?, Never>] = []
        for seq in [2, 4, 3, 4, 2] as [Int64] {
            for (slot, users) in bySlot {
                let entries = users.map { ReadPositions.Entry($0, conversation, readSeq: seq) }
                tellings.append(
                    Task { @Reactor in await store.ask(.readMoved, in: slot, ReadPositions(entries))?.status })
            }
        }
        for telling in tellings { #expect(await telling.value == 204) }
        let rows = try store.database.query(
            """
            SELECT count(*) FILTER (WHERE NOT ascending), count(*) FILTER (WHERE last_read <> 4), count(DISTINCT user_id)
            FROM (
                SELECT h.user_id, h.useq = row_number() OVER (PARTITION BY h.user_id ORDER BY h.useq)
                    AND h.seq > coalesce(lag(h.seq) OVER (PARTITION BY h.user_id ORDER BY h.useq), -1) AS ascending,
                    last_value(h.seq) OVER (PARTITION BY h.user_id) AS last_read
                FROM store.user_changes h WHERE h.user_id LIKE 'user%'
            ) t
            """)
        let row = try #require(rows.first)
        #expect((row[0] as Int64, row[1] as Int64, row[2] as Int64) == (0, 0, 300))
    }
}
