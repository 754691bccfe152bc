import Bytes
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// The effect of one user's queries on others, with a real bus and database where some statements cannot finish.
@Suite(.timeLimit(.minutes(2)))
struct FairQueriesTests {
    typealias Draft = StoreUnderTest.Draft
    private let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func list(by reader: String, _ store: StoreUnderTest) async -> StoreUnderTest.Reply? {
        let query = ListConversations(reader: UserID(reader)!, limit: 50, before: .start)
        return await store.ask(.listConversations, in: query.reader.slot, query)
    }

    @Test("lists that take for ever, of one user or of many, keep nobody from their history", arguments: [1, 40])
    @Reactor func historyBesideLists(users: Int) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        _ = await store.send(Draft(text: "hello"), from: "alice", to: conversation)
        let locking = try store.database.connect()
        // Lists read the inbox and wait for it. Histories do not.
        try locking.execute("BEGIN; LOCK TABLE store.inbox IN ACCESS EXCLUSIVE MODE")
        var answered = 0
        for number in 0..<40 {
            Reactor.spawn {
                if await list(by: "mallory-\(number % users)", store) != nil { answered += 1 }
            }
        }
        #expect(await store.eventually { store.store.queries.inFlight == 40 })
        for _ in 0..<5 { #expect(await store.history(conversation, for: "bob")?.status == 200) }
        #expect(answered == 0, "the lists still wait")
        try locking.execute("ROLLBACK")
        #expect(await store.eventually { answered == 40 })
    }

    @Test("one user's searches that take for ever are one at a time: another's has the next turn")
    @Reactor func searches() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        _ = await store.send(Draft(text: "hello"), from: "alice", to: conversation)
        let locking = try store.database.connect()
        try locking.execute("BEGIN; LOCK TABLE store.search_blocks IN ACCESS EXCLUSIVE MODE")
        var order: [String] = []
        func search(by reader: String) {
            Reactor.spawn {
                _ = await store.search("hello", by: reader, in: nil, limit: 5)
                order.append(reader)
            }
        }
        for _ in 0..<10 { search(by: "alice") }
        #expect(await store.eventually { store.store.queries.inFlight == 10 })
        search(by: "bob")
        #expect(await store.eventually { store.store.queries.inFlight + order.count == 11 })
        try locking.execute("ROLLBACK")
        #expect(await store.eventually { order.count == 11 })
        // The query in flight, and one whose response was faster on the bus.
        #expect((order.firstIndex(of: "bob") ?? 11) <= 4, "\(order)")
    }

    @Test("a user with more queries in flight than half the room is refused; another is served")
    @Reactor func room() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        let locking = try store.database.connect()
        try locking.execute("BEGIN; LOCK TABLE store.inbox IN ACCESS EXCLUSIVE MODE")
        var refused = 0
        let count = Queries.limit / 2 + 10
        for _ in 0..<count {
            Reactor.spawn { if await list(by: "mallory", store)?.status == 503 { refused += 1 } }
        }
        #expect(await store.eventually { refused == 10 })
        #expect(await store.history(conversation, for: "bob")?.status == 200)
        try locking.execute("ROLLBACK")
    }

    @Test("a backlog of large texts is looked through in pieces, and no further than its bound in bytes")
    @Reactor func pieces() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        let locking = try store.database.connect()
        try locking.execute("BEGIN; LOCK TABLE store.search_blocks IN SHARE MODE")  // Blocks writes to the index.
        let text = String(repeating: "é", count: 8 * 1024)
        for _ in 0..<20 {
            _ = await store.sendAll((0..<10).map { _ in Draft(text: text) }, from: "alice", to: conversation)
        }
        let texts = store.store.queries.searching.texts
        let before = texts.pieces
        #expect(await store.found("zz", by: "bob") == [])
        let pieces = texts.pieces - before
        #expect(pieces >= 60 && pieces <= 70 + 2 * 64, "\(pieces) pieces")
        try locking.execute("ROLLBACK")
    }

    @Test("a batch of the index has a bound in bytes; everything is indexed in the end")
    @Reactor func indexBatches() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        let locking = try store.database.connect()
        try locking.execute("BEGIN; LOCK TABLE store.search_positions IN ACCESS EXCLUSIVE MODE")
        let text = String(repeating: "é", count: 8 * 1024 - 16)
        for group in 0..<20 {
            _ = await store.sendAll(
                (0..<10).map { Draft(text: "\(text) nr\(group * 10 + $0)") }, from: "alice", to: conversation)
        }
        try locking.execute("ROLLBACK")
        let rows = try store.database.connect().query(SearchIndex.unindexed) { parameters, input in
            SearchIndex.set([conversation], positionsOfEach: 1_024, of: input, in: &parameters)
        }
        let bytes = SearchIndex.portions(rows).reduce(0) { $0 + $1.texts.reduce(0) { $0 + $1.searched.text.count } }
        #expect(bytes <= SearchIndex.batchBytes + 16 * 1024)
        await store.indexed()
        for number in [0, 99, 199] { #expect(await store.found("nr\(number)", by: "bob").count == 1) }
    }
}
