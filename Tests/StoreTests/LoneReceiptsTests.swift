import Foundation
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Receipts in lists, where each message is the only one of its conversation.
@Suite(.timeLimit(.minutes(2)))
struct LoneReceiptsTests {
    init() { ReactorThread.start() }

    private let alice = UserID("alice")!

    /// Conversations of several sizes, of which some are large and some were left by alice or others, each with messages of
    /// hers at the end. Everybody has read half of the conversations, and in the others not everybody.
    @Reactor private func fill(_ store: StoreUnderTest) async throws -> [ConversationID] {
        try await store.startReceipt()
        var conversations: [ConversationID] = []
        for number in 0..<12 {
            let conversation = ConversationID(.random)
            conversations.append(conversation)
            // With alice as many as are listed by name, and one more.
            let size = [1, 2, 4, 49, 50, 3][number % 6]
            let others = (0..<size).map { "user\($0)" }
            _ = await store.create(conversation, by: "alice", with: others)
            _ = await store.send(.init(), .init(), .init(), from: "alice", to: conversation)
            if size == 4 {
                _ = await store.write(.removeMember(UserID("user3")!), by: "user3", in: conversation)
                _ = await store.send(.init(), from: "alice", to: conversation)
            }
            let readers = others.enumerated().filter { size != 4 || $0.offset != 3 }
                .filter { number < 6 || $0.offset % 3 > 0 }.map(\.element)
            for seq in [3, 100] as [Int64] { try await read(store, readers, through: seq, in: conversation) }
            if size == 3 { _ = await store.write(.removeMember(alice), by: "alice", in: conversation) }
        }
        return conversations
    }

    @Reactor private func read(
        _ store: StoreUnderTest, _ readers: [String], through seq: Int64, in conversation: ConversationID
    ) async throws {
        let readings = readers.map { reader in
            Task { @Reactor in try await store.signal(read: seq, by: reader, in: conversation) }
        }
        for reading in readings { try await reading.value }
    }

    @Reactor private func list(_ store: StoreUnderTest) async throws -> [[String: Any]] {
        let query = ListConversations(reader: alice, limit: 50, before: .start)
        let list = await store.ask(.listConversations, in: alice.slot, query)
        return try #require(list?.field("conversations") as? [[String: Any]])
    }

    private static func receipts(_ message: [String: Any]) -> [String?] {
        ["status", "dateDelivered", "dateRead", "deliveredCount", "readCount", "recipientCount"].map {
            message[$0].map { "\($0)" }
        }
    }

    @Test("the list shows of each message the receipts that the history shows")
    @Reactor func sameAsHistory() async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let conversations = try await fill(store)
        let listed = try await list(store)
        #expect(Set(listed.compactMap { $0["id"] as? String }) == Set(conversations.map(\.description)))
        var statuses: Set<String> = []
        for conversation in listed {
            let id = try #require(conversations.first { $0.description == conversation["id"] as? String })
            let page = await store.history(id, for: "alice")?.field("messages") as? [[String: Any]] ?? []
            // Three and more of hers, which are counted another way.
            #expect(page.count { $0["senderId"] as? String == "alice" && $0["status"] != nil } > 1)
            guard let message = conversation["lastMessage"] as? [String: Any], message["status"] != nil else {
                continue
            }
            let inHistory = try #require(page.first { $0["id"] as? String == message["id"] as? String })
            #expect(Self.receipts(message) == Self.receipts(inHistory), "\(conversation)")
            statuses.insert(try #require(message["status"] as? String))
        }
        #expect(statuses == ["sent", "read"], "there are some of each")
    }

    @Test("a page of the list asks for receipts in two statements, however many conversations it has")
    @Reactor func statements() async throws {
        // One connection, which counts what it executes.
        let store = try await StoreUnderTest(settings: ["PARLEY_QUERY_CONNECTIONS": "1"])
        defer { store.close() }
        _ = try await fill(store)
        // Of who has left, and of a date that is not kept yet, each conversation is asked about.
        let rare = ["former_end", "former_receipt_counts", "former_receipt_dates", "receipt_dates"]
        let before = try await executions(store)
        let listed = try await list(store)
        #expect(listed.count == 12)
        let after = try await executions(store)
        let executed = after.filter { $0.key.contains("receipt") || ["recipients", "kept_dates"].contains($0.key) }
            .filter { !rare.contains($0.key) }
            .reduce(into: [String: Int64]()) { $0[$1.key] = $1.value - before[$1.key, default: 0] }
            .filter { $0.value > 0 }
        #expect(executed == ["lone_receipts": 1, "lone_receipts_of_many": 1])
        #expect(after["list_conversations"] == 1 + before["list_conversations", default: 0])
    }

    /// How often each statement was executed on the connection of the queries.
    @Reactor private func executions(_ store: StoreUnderTest) async throws -> [String: Int64] {
        let rows = try await store.store.queries.connection.transaction {
            $0.execute(sql: "SELECT name, generic_plans + custom_plans FROM pg_prepared_statements")
        }
        return Dictionary(uniqueKeysWithValues: rows[0].map { ($0[0] as String, $0[1] as Int64) })
    }
}
