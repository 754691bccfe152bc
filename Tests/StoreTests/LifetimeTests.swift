import Bytes
import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Messages that disappear, where it matters when a store looks, and what happens at once.
@Suite(.timeLimit(.minutes(2))) struct LifetimeTests {
    typealias Draft = StoreUnderTest.Draft
    let conversation = ConversationID(.random)

    init() { ReactorThread.start() }

    @Reactor private func withGroup(
        layout: Layout = .plain, _ body: (StoreUnderTest) async throws -> Void
    ) async throws {
        let store = try await StoreUnderTest(layout: layout)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        try await body(store)
    }

    @Reactor private func setLifetime(_ seconds: UInt32, _ store: StoreUnderTest) async {
        #expect(await store.write(.setLifetime(seconds: seconds), by: "alice", in: conversation)?.status == 200)
    }

    @Reactor private func send(_ count: Int, _ store: StoreUnderTest) async {
        for _ in 0..<count { _ = await store.send(Draft(), from: "bob", to: conversation) }
    }

    /// Has messages be as much older, and the store look at once.
    private func age(_ seconds: Int, where condition: String = "true", _ store: StoreUnderTest) throws {
        try store.database.execute(
            """
            UPDATE store.messages SET created_at = created_at - interval '\(seconds) s' WHERE \(condition);
            UPDATE store.lifetimes SET due_at = '-infinity'
            """)
    }

    private func number(_ sql: String, _ store: StoreUnderTest) throws -> Int64 {
        try #require(try store.database.query(sql).first)[0]
    }

    private func expiredCount(_ store: StoreUnderTest) throws -> Int64 {
        try number("SELECT count(*) FROM store.messages WHERE is_expired", store)
    }

    /// Whether the store looks again in about as many seconds.
    private func looks(in seconds: Int64, _ store: StoreUnderTest) -> Bool {
        let next = try? number(
            """
            SELECT CASE WHEN isfinite(due_at) THEN round(extract(epoch FROM due_at - now()))::bigint ELSE 0::bigint END
            FROM store.lifetimes
            """, store)
        return next.map { abs($0 - seconds) < 60 } ?? false
    }

    private func expectDense(_ store: StoreUnderTest) throws {
        let rows = try store.database.query(
            """
            SELECT c.last_seq, count(*), count(DISTINCT p.seq) FROM store.conversations c
            JOIN (SELECT conversation_id, seq FROM store.messages UNION ALL SELECT conversation_id, seq FROM store.changes) p
                ON p.conversation_id = c.id
            GROUP BY c.id, c.last_seq
            """)
        #expect(rows.allSatisfy { ($0[0] as Int64) == ($0[1] as Int64) && ($0[1] as Int64) == ($0[2] as Int64) })
    }

    @Test(
        "a store looks again when the next message is due, or in one lifetime where none is left, and nowhere when all have gone",
        arguments: [Layout.plain, .partitions(4)])
    @Reactor func whenItLooks(layout: Layout) async throws {
        try await withGroup(layout: layout) { store in
            await setLifetime(3_600, store)
            await send(3, store)
            try age(4_000, where: "seq < 5", store)
            try age(600, where: "seq = 5", store)
            #expect(await store.eventually { (try? expiredCount(store)) == 2 })
            #expect(await store.eventually { looks(in: 3_000, store) }, "the third one is ten minutes old")
            try age(4_000, where: "seq = 5", store)
            #expect(await store.eventually { (try? expiredCount(store)) == 3 })
            #expect(await store.eventually { looks(in: 3_600, store) })
            await send(1, store)
            await setLifetime(0, store)
            try age(4_000, where: "NOT coalesce(is_expired, false)", store)
            #expect(await store.eventually { (try? number("SELECT count(*) FROM store.lifetimes", store)) == 0 })
            #expect(try expiredCount(store) == 4)
            await send(1, store)
            try expectDense(store)
        }
    }

    @Test(
        "what one store has begun, the next one ends: each message goes once, whoever dies and whoever writes meanwhile"
    )
    @Reactor func takeover() async throws {
        try await withGroup { store in
            await setLifetime(60, store)
            _ = await store.sendAll((0..<450).map { _ in Draft() }, from: "bob", to: conversation)
            try age(100, store)
            #expect(await store.eventually { (try? expiredCount(store)) ?? 0 > 0 })
            try await store.crash()
            for _ in 0..<20 {
                _ = await store.send(Draft(), from: "alice", to: conversation)
                await Reactor.sleep(for: .milliseconds(10))
            }
            #expect(await store.eventually { (try? expiredCount(store)) == 450 })
            let deletions = "SELECT count(*) FROM store.changes WHERE kind = \(ChangeKind.messageDeleted.rawValue)"
            #expect(try number(deletions, store) == 450)
            try expectDense(store)
        }
    }

    @Test(
        "from reading on messages go in their order, each when it was read by all who are there, and no store of before takes part",
        arguments: [Layout.plain, .partitions(4)])
    @Reactor func fromReading(layout: Layout) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        let store = try await StoreUnderTest(layout: layout)
        defer { store.close() }
        let conversations = (0..<24).map { _ in (id: ConversationID(.random), readings: Readings(&random)) }
        for (id, readings) in conversations {
            _ = await store.create(id, by: "a", with: ["b", "c", "d", "e"])
            let start = Write.Action.setLifetime(seconds: UInt32(Readings.hour), from: .reading)
            #expect(await store.write(start, by: "a", in: id)?.status == 200)
            for sender in readings.senders { _ = await store.send(Draft(), from: sender, to: id) }
            try store.database.execute(readings.sql(id))
        }
        let waits = "SELECT count(*) FROM store.lifetimes WHERE"
        #expect(try number("\(waits) due_at < 'infinity'", store) == 0, "a store of before would look")
        try store.database.execute("UPDATE store.lifetimes SET look_at = '-infinity'")
        #expect(await store.eventually { (try? number("\(waits) look_at < now()", store)) == 0 })
        for (id, readings) in conversations {
            let gone = try store.database.query(
                "SELECT seq FROM store.messages WHERE is_expired AND conversation_id = '\(id)' ORDER BY seq"
            ).map { $0[0] as Int64 }
            let (over, next) = readings.expected
            #expect(gone == over, "seed \(seed): \(readings)")
            let looks = try number(
                """
                SELECT round(extract(epoch FROM look_at - now()))::bigint FROM store.lifetimes WHERE conversation_id = '\(id)'
                """, store)
            #expect(abs(looks - next) < 90, "seed \(seed): \(readings)")
        }
        try expectDense(store)
    }

    @Test("however often somebody reads between two messages, both go; a lifetime from sending on is the next one")
    @Reactor func manyReadings() async throws {
        try await withGroup { store in
            let hour = Write.Action.setLifetime(seconds: 3_600, from: .reading)
            #expect(await store.write(hour, by: "alice", in: conversation)?.status == 200)
            let first = MessageID(.random)
            _ = await store.send(Draft(id: first), from: "alice", to: conversation)
            for number in 0..<Lifetimes.runsPerReader + 20 {
                let tapback = Write.Action.setTapback(first, number % 2 == 0 ? "love" : "like")
                #expect(await store.write(tapback, by: "bob", in: conversation)?.status == 200)
            }
            _ = await store.send(Draft(), from: "alice", to: conversation)
            await setLifetime(3_600, store)
            try store.database.execute(
                """
                INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
                SELECT slot, id, 'bob', last_seq, last_seq, last_seq, 1 FROM store.conversations;
                INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
                SELECT slot, id, 'bob', 3, seq, seq, now() - interval '2 h'
                FROM store.conversations, generate_series(1, last_seq) seq;
                UPDATE store.lifetimes SET look_at = '-infinity' WHERE look_at IS NOT NULL
                """)
            try age(7_000, store)
            #expect(await store.eventually { (try? expiredCount(store)) == 2 })
            #expect(try number("SELECT count(*) FROM store.lifetimes", store) == 1)
            try expectDense(store)
        }
    }

    @Test("a step where nothing is due changes nothing, and one that is repeated neither")
    @Reactor func repeated() async throws {
        try await withGroup { store in
            let step = ExpireMessages(in: conversation)
            func take() async -> UInt16? { await store.ask(.expireMessages, in: conversation.slot, step)?.status }
            #expect(await take() == 204, "without a lifetime")
            await setLifetime(3_600, store)
            await send(2, store)
            #expect(await take() == 204)
            try age(4_000, store)
            _ = await take()
            #expect(await take() == 204)
            #expect(try expiredCount(store) == 2)
            try expectDense(store)
        }
    }
}

/// Who has read what of a conversation of five, when: made at random, in minutes before now.
private struct Readings {
    static let hour = 3_600
    private static let users = ["a", "b", "c", "d", "e"]
    private static let year = 366 * 24 * 60
    /// The position of the first message: behind the creation and the lifetime.
    private static let first: Int64 = 3

    struct Reader {
        var joined: Int64 = 1
        /// They have left; or have blocked whoever brought them, and are there to the others alone.
        var hasLeft = false, isShadow = false
        /// Up to where, and when.
        var runs: [(through: Int64, age: Int)] = []
    }

    let senders: [String]
    /// Of the messages.
    private(set) var ages: [Int] = []
    private(set) var readers: [String: Reader] = [:]
    private(set) var isLarge = false

    init(_ random: inout SeededRandom) {
        senders = (0..<Int.random(in: 1...9, using: &random)).map { _ in Self.users.randomElement(using: &random)! }
        let last = Self.first + Int64(senders.count) - 1
        let isOld = Int.random(in: 0..<4, using: &random) == 0
        ages = senders.indices.map {
            isOld && $0 < 2 ? Self.year + 60 : Int.random(in: 0..<18, using: &random) * 10 + 2
        }
        ages.sort(by: >)
        isLarge = Int.random(in: 0..<8, using: &random) == 0
        for user in Self.users {
            var reader = Reader()
            if Int.random(in: 0..<4, using: &random) == 0 { reader.joined = .random(in: 1...last, using: &random) }
            reader.hasLeft = user != "a" && Int.random(in: 0..<6, using: &random) == 0
            reader.isShadow = !reader.hasLeft && Int.random(in: 0..<10, using: &random) == 0
            var through: Int64 = 0
            // Most have read all of it.
            let end = Int.random(in: 0..<4, using: &random) == 0 ? Int64.random(in: 0...last, using: &random) : last
            var age = Int.random(in: 6..<18, using: &random) * 10 + 5
            while through < end, !reader.isShadow {
                through = .random(in: through + 1...end, using: &random)
                reader.runs.append((through, age))
                age = max(5, age - Int.random(in: 0..<6, using: &random) * 10)
            }
            readers[user] = reader
        }
    }

    /// The positions that are gone, and in how many seconds to look again.
    var expected: (over: [Int64], next: Int64) {
        var over: [Int64] = []
        for (seq, (sender, age)) in zip(Self.first..., zip(senders, ages)) {
            let end = due(seq, sender, age)
            if end > 0 { return (over, Int64(end * 60)) }
            over.append(seq)
        }
        return (over, Int64(Self.hour))
    }

    /// In how many minutes the message is over.
    private func due(_ seq: Int64, _ sender: String, _ age: Int) -> Int {
        let others = readers.filter { $0.key != sender && !$0.value.hasLeft && $0.value.joined <= seq }.values
        // What is not read now is over in an hour at the earliest; what follows something that is younger than that, when that is.
        let readings = others.map { reader in
            let run = reader.runs.first { $0.through >= seq }
            if let run, run.age > 60 { return run.age }
            return reader.runs.first { $0.through >= Self.first && $0.age < 60 }?.age ?? 0
        }
        return min(Self.year - age, max(60 - age, 60 - (isLarge ? 0 : readings.min() ?? age)))
    }

    func sql(_ conversation: ConversationID) -> String {
        let key = "slot = \(conversation.slot.number) AND conversation_id = '\(conversation)'"
        var lines = zip(Self.first..., ages).map { seq, age in
            "UPDATE store.messages SET created_at = now() - interval '\(age) min' WHERE \(key) AND seq = \(seq)"
        }
        for (user, reader) in readers {
            let row = "\(conversation.slot.number), '\(conversation)', '\(user)'"
            lines.append(
                """
                UPDATE store.memberships SET joined_seq = \(reader.joined), is_shadowed = \(reader.isShadow),
                    left_seq = \(reader.hasLeft || reader.isShadow ? "\(reader.joined)" : "NULL")
                WHERE \(key) AND user_id = '\(user)'
                """)
            if reader.isShadow {
                lines.append(
                    """
                    INSERT INTO store.shadows (slot, conversation_id, user_id, joined_seq, role)
                    VALUES (\(row), \(reader.joined), 1)
                    """)
            }
            guard let shown = reader.runs.last?.through else { continue }
            lines.append(
                """
                INSERT INTO receipt.horizons (slot, conversation_id, user_id, delivered_seq, read_seq, shown_seq, version)
                VALUES (\(row), 99, 99, \(shown), 1)
                """)
            var from: Int64 = 1
            for (place, run) in reader.runs.enumerated() {
                lines.append(
                    """
                    INSERT INTO receipt.receipt_runs (slot, conversation_id, user_id, kind, from_seq, to_seq, at)
                    VALUES (\(row), \(place % 2 + 2), \(from), \(run.through), now() - interval '\(run.age) min')
                    """)
                from = run.through + 1
            }
        }
        if isLarge {
            lines.append(
                "UPDATE store.conversations SET member_count = 51 WHERE slot = \(conversation.slot.number) AND id = '\(conversation)'"
            )
        }
        return lines.joined(separator: ";\n")
    }
}
