import Foundation
import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Messages with many tapbacks.
@Suite(.timeLimit(.minutes(2)))
struct TapbackTests {
    typealias Draft = StoreUnderTest.Draft

    private let conversation = ConversationID(.random)
    private let message = Draft(text: "We are moving.")

    init() { ReactorThread.start() }

    /// - Parameter count: how many members react, `user1` first. Alice writes.
    @Reactor private func withMessage(
        members count: Int, _ body: (StoreUnderTest, [String]) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest()
        defer { store.close() }
        let members = (1...count).map { "user\($0)" }
        _ = await store.create(conversation, by: "alice", with: members)
        _ = await store.send(message, from: "alice", to: conversation)
        try await body(store, members)
    }

    private func counts(_ reply: StoreUnderTest.Reply?) -> [String: Int]? {
        reply?.field("tapbackCounts") as? [String: Int]
    }

    private func names(_ reply: StoreUnderTest.Reply?) -> [String]? {
        (reply?.field("tapbacks") as? [[String: Any]])?.compactMap { $0["userId"] as? String }
    }

    /// What stands in the column.
    @Reactor private func keptCounts(_ store: StoreUnderTest) throws -> String? {
        try store.database.query("SELECT tapback_counts::text FROM store.messages WHERE id = '\(message.id)'")[0][0]
    }

    /// Writes as a store does that does not keep counts.
    @Reactor private func writeAsBefore(_ user: String, _ kind: String?, _ store: StoreUnderTest) throws {
        let key = "'\(conversation)', '\(message.id)', '\(user)'"
        let isNew =
            "(NOT EXISTS (SELECT FROM store.tapbacks WHERE message_id = '\(message.id)' AND user_id = '\(user)'))"
        let isThere = "(EXISTS (SELECT FROM store.tapbacks WHERE message_id = '\(message.id)' AND user_id = '\(user)'))"
        let change = kind == nil ? "- \(isThere)::integer" : "+ \(isNew)::integer"
        try store.database.execute(
            """
            UPDATE store.conversations SET last_seq = last_seq + 1 WHERE id = '\(conversation)';
            UPDATE store.messages m SET tapback_count = tapback_count \(change), changed_seq = c.last_seq
            FROM store.conversations c WHERE m.id = '\(message.id)' AND c.id = m.conversation_id;
            """
                + (kind.map {
                    """
                    INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
                    SELECT \(conversation.slot.number), \(key), '\($0)', now(), last_seq
                    FROM store.conversations WHERE id = '\(conversation)'
                    ON CONFLICT (conversation_id, message_id, user_id, slot)
                    DO UPDATE SET kind = excluded.kind, at = excluded.at, seq = excluded.seq;
                    """
                } ?? "DELETE FROM store.tapbacks WHERE message_id = '\(message.id)' AND user_id = '\(user)';"))
    }

    @Test("counts are those of the rows, also where stores of before have written between", arguments: [1, 2, 3])
    @Reactor func counted(seed: UInt64) async throws {
        try await withMessage(members: 40) { store, members in
            var random = SeededRandom(seed: seed)
            var expected: [String: String] = [:]
            var wereKept = 0
            for step in 1...300 {
                let user = members.randomElement(using: &random)!
                let kind =
                    Int.random(in: 0..<5, using: &random) == 0
                    ? nil : ["like", "love", "🎉"].randomElement(using: &random)!
                if Int.random(in: 0..<4, using: &random) == 0 {
                    try writeAsBefore(user, kind, store)
                } else {
                    let action = kind.map { Write.Action.setTapback(message.id, $0) } ?? .removeTapback(message.id)
                    _ = await store.write(action, by: user, in: conversation)
                }
                expected[user] = kind
                let seen = await store.message(message.id, for: "alice", in: conversation)
                let right = Dictionary(grouping: expected.values, by: \.self).mapValues(\.count)
                #expect(counts(seen) == right, "step \(step)")
                if try keptCounts(store) != nil { wereKept += 1 }
            }
            #expect(wereKept > 100, "else this tests little")
        }
    }

    @Test("the first are named in their order, and the reader's own; a former member sees what was there at the end")
    @Reactor func named() async throws {
        try await withMessage(members: 30) { store, members in
            for user in members.dropLast(2) {
                _ = await store.write(.setTapback(message.id, "like"), by: user, in: conversation)
            }
            _ = await store.write(.removeMember(UserID("user5")!), by: "alice", in: conversation)
            for user in members.suffix(2) {
                _ = await store.write(.setTapback(message.id, "love"), by: user, in: conversation)
            }
            let first = Array(members.prefix(ContractLimits.namedTapbacks))
            let now = await store.message(message.id, for: "alice", in: conversation)
            #expect(names(now) == first && counts(now) == ["like": 28, "love": 2])
            #expect(names(await store.message(message.id, for: "user30", in: conversation)) == first + ["user30"])
            let then = await store.message(message.id, for: "user5", in: conversation)
            #expect(names(then) == first && counts(then) == ["like": 28])
            // The first becomes the last.
            _ = await store.write(.setTapback(message.id, "love"), by: "user1", in: conversation)
            let later = await store.message(message.id, for: "user1", in: conversation)
            #expect(names(later) == Array(members[1...ContractLimits.namedTapbacks]) + ["user1"])
            #expect(counts(later) == ["like": 27, "love": 3])
        }
    }

    @Test("the tapback of an erased user is in no count, and what is kept of it goes")
    @Reactor func erased() async throws {
        try await withMessage(members: 25) { store, members in
            try await store.startReceipt()
            for user in members { _ = await store.write(.setTapback(message.id, "like"), by: user, in: conversation) }
            #expect(try keptCounts(store) == #"{"like": 25}"#)
            while await store.ask(.eraseUser, in: UserID("user3")!.slot, EraseUser(UserID("user3")!))?.status == 202 {
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(try keptCounts(store) == nil)
            #expect(counts(await store.message(message.id, for: "alice", in: conversation)) == ["like": 24])
        }
    }

    private let explained = "EXPLAIN (ANALYZE) "

    /// Returns how many rows of tapbacks a plan has read.
    private func tapbacksRead(_ plan: Rows) -> Int {
        plan.map { $0[0] as String }.reduce(0) { sum, line in
            guard line.contains(" on tapbacks"), let match = line.firstMatch(of: /actual .*rows=(\d+) loops=(\d+)/)
            else { return sum }
            return sum + Int(match.1)! * Int(match.2)!
        }
    }

    @Test("of a message with many tapbacks not all are read, neither to write nor to read; its counts go with it")
    @Reactor func rowsRead() async throws {
        try await withMessage(members: 2) { store, _ in
            try store.database.execute(
                """
                INSERT INTO store.tapbacks (slot, conversation_id, message_id, user_id, kind, at, seq)
                SELECT \(conversation.slot.number), '\(conversation)', '\(message.id)', 'other' || n, 'like', now(), n
                FROM generate_series(1001, 6000) n;
                UPDATE store.messages SET tapback_count = 5000, changed_seq = 6000 WHERE id = '\(message.id)';
                UPDATE store.conversations SET last_seq = 6000;
                ANALYZE
                """)
            let set = await store.write(.setTapback(message.id, "love"), by: "user1", in: conversation)
            #expect(counts(set) == ["like": 5_000, "love": 1])
            let query = MessageQuery(
                ConversationQuery(conversation, reader: UserID("user2")!), message: message.id)
            let connection = try store.database.connect()
            try connection.execute("SET plan_cache_mode = force_generic_plan")
            let toOne = try connection.query(MessageStatement.statement, prefix: explained) { $0.set($1, to: query) }
            #expect((1...ContractLimits.namedTapbacks + 2).contains(tapbacksRead(toOne)))
            let page = try connection.query(TapbacksStatement.statement, prefix: explained) {
                $0.set($1, to: AfterUserQuery(query, after: "", limit: 10))
            }
            #expect((1...12).contains(tapbacksRead(page)))
            let removed = await store.write(.removeTapback(message.id), by: "user1", in: conversation)
            #expect(removed?.status == 204)
            #expect(try keptCounts(store) == #"{"like": 5000}"#)
            _ = await store.write(.deleteForEveryone(message.id), by: "alice", in: conversation)
            #expect(try keptCounts(store) == nil)
        }
    }
}
