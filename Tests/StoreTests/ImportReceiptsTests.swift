import Bytes
import Models
import PostgresSupport
import Reactor
import TestSupport
import Testing
import Wire

@testable import Store

/// Receipts that are brought with a history are as if they had come when they happened.
@Suite(.timeLimit(.minutes(2)))
struct ImportReceiptsTests {
    init() { ReactorThread.start() }

    private let conversation = ConversationID(.random)
    private let alice = UserID("alice")!
    private let bob = UserID("bob")!
    private let carol = UserID("carol")!
    private let messages = (0..<40).map { _ in MessageID(.random) }

    /// A second of the first of January 2020.
    private func second(_ number: Int64) -> Timestamp { Timestamp(milliseconds: 1_577_836_800_000 + number * 1_000) }

    private func receipt(_ kind: ImportReceipt.Kind, _ user: UserID, _ message: Int, _ at: Int64) -> ImportReceipt {
        ImportReceipt(kind, by: user, through: messages[message], at: second(at))
    }

    // MARK: Services

    @Reactor private func withServices(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest()
        try await store.startReceipt()
        defer { store.close() }
        try await body(store)
    }

    @Reactor private func bring(_ records: [ImportRecord], to store: StoreUnderTest) async throws {
        let reply = try #require(
            await store.ask(.importRecords, in: conversation.slot) { buffer in
                ImportRecords.writeHead(conversation, count: records.count, to: &buffer)
                for record in records { record.write(to: &buffer) }
            })
        #expect(try statuses(reply.payload) == records.map { _ in 200 })
    }

    @Reactor private func bring(_ receipts: [ImportReceipt], to store: StoreUnderTest) async throws -> [UInt16] {
        let reply = try #require(
            await store.askReceipt(.importReceipts, in: conversation.slot, ImportReceipts(conversation, receipts)))
        try #require(reply.status == 200)
        return try statuses(reply.payload)
    }

    private func statuses(_ payload: [UInt8]) throws -> [UInt16] {
        try payload.withUnsafeBytes { bytes in
            var reader = ByteReader(bytes)
            var statuses: [UInt16] = []
            while !reader.isAtEnd { statuses.append(try SendResponse.next(from: &reader).status) }
            return statuses
        }
    }

    /// Opens the import: alice begins at 0, with bob; message n is hers, of second n + 1.
    @Reactor private func open(_ store: StoreUnderTest, messages count: Int = 10) async throws {
        let opening = ImportRecord.Conversation(kind: .group, createdAt: second(0), title: "", members: [alice, bob])
        try await bring([.conversation(opening)] + messages[..<count].indices.map(message), to: store)
    }

    private func message(_ number: Int) -> ImportRecord {
        // Without texts, because they borrow their bytes: tombstones, deleted as soon as they were written.
        let at = second(Int64(number) + 1)
        return .message(
            ImportRecord.Message(
                id: messages[number], sender: alice, replyTo: nil, createdAt: at, deletedAt: second(1_000), texts: []))
    }

    @Reactor private func rows(_ store: StoreUnderTest) throws -> [String] {
        try store.database.query(
            """
            SELECT line FROM (
                SELECT format('run %s %s %s-%s %s', user_id, kind, from_seq, to_seq,
                    extract(epoch FROM at - timestamptz '2020-01-01 00:00:00+00')::bigint) AS line FROM receipt.receipt_runs
                UNION ALL
                SELECT format('at %s %s %s %s', user_id, delivered_seq, read_seq, shown_seq) FROM receipt.horizons
            ) l ORDER BY line COLLATE "C"
            """
        ).map { $0[0] }
    }

    // MARK: What becomes of them

    @Test("a receipt moves a horizon at its own time, and one that an earlier one covers says nothing")
    @Reactor func runs() async throws {
        try await withServices { (store) async throws in
            try await open(store)
            let receipts = [
                receipt(.delivered, bob, 2, 10), receipt(.read, bob, 1, 11), receipt(.read, bob, 1, 12),
                receipt(.delivered, bob, 1, 12), receipt(.read, bob, 4, 13), receipt(.read, alice, 0, 5),
            ]
            #expect(try await bring(receipts, to: store) == receipts.map { _ in 200 })
            // Message n has the position n + 2.
            let expected = [
                "at alice 2 2 2", "at bob 6 6 6", "run alice 3 1-2 5", "run bob 1 1-4 10", "run bob 2 1-3 11",
                "run bob 2 4-4 13", "run bob 3 5-6 13",
            ]
            #expect(try rows(store) == expected)
            // Again, at once and each alone, also behind the end.
            #expect(try await bring(receipts, to: store) == receipts.map { _ in 200 })
            for receipt in receipts { #expect(try await bring([receipt], to: store) == [200]) }
            #expect(try rows(store) == expected)
            try await bring([.end], to: store)
            #expect(try await bring(receipts, to: store) == receipts.map { _ in 200 })
            #expect(try await bring([receipt(.read, bob, 6, 20)], to: store) == [409])
            #expect(try rows(store) == expected)
        }
    }

    @Test("receipts that cannot have happened are refused, each for itself")
    @Reactor func refusals() async throws {
        try await withServices { (store) async throws in
            #expect(try await bring([receipt(.read, bob, 0, 5)], to: store) == [404])
            try await open(store)
            let lines: [(ImportReceipt, UInt16)] = [
                (receipt(.read, bob, 5, 5), 409),  // before the message
                (receipt(.read, bob, 20, 50), 404),  // no such message
                (receipt(.read, carol, 3, 50), 409),  // no member
                (receipt(.read, bob, 3, 1 << 32), 400),  // in the future
                (receipt(.read, bob, 3, 50), 200), (receipt(.read, bob, 4, 49), 409),  // backwards
                (receipt(.read, bob, 2, 49), 409),  // earlier than it was read
                (receipt(.read, bob, 2, 50), 200), (receipt(.delivered, bob, 2, 51), 200),
                (receipt(.delivered, bob, 3, 49), 409), (receipt(.delivered, bob, 6, 49), 409),
                (receipt(.delivered, bob, 6, 50), 200), (receipt(.read, bob, 4, 50), 200),
            ]
            #expect(try await bring(lines.map(\.0), to: store) == lines.map(\.1))
            let rows = try rows(store)
            #expect(rows.contains("at bob 8 6 6"))
            for (line, status) in lines { #expect(try await bring([line], to: store) == [status], "\(line)") }
            #expect(try self.rows(store) == rows)
        }
    }

    @Test("a user's receipts lie within the times of their stays, whatever the order of lines")
    @Reactor func stays() async throws {
        try await withServices { (store) async throws in
            try await open(store)
            try await bring(
                [
                    .member(ImportRecord.MemberChange(.memberAdded, of: carol, at: second(20), by: nil)),
                    .member(ImportRecord.MemberChange(.memberRemoved, of: bob, at: second(21), by: nil)),
                ] + (20..<24).map(message), to: store)
            let lines: [(ImportReceipt, UInt16)] = [
                (receipt(.read, carol, 3, 19), 409), (receipt(.read, carol, 3, 20), 200),
                (receipt(.delivered, carol, 22, 24), 200), (receipt(.read, bob, 9, 12), 200),
                (receipt(.read, bob, 9, 21), 200), (receipt(.read, bob, 20, 21), 409),
                (receipt(.read, bob, 20, 22), 409),
            ]
            #expect(try await bring(lines.map(\.0), to: store) == lines.map(\.1))
        }
    }

    @Test("who hides their reading when it is stored, has a position of their own only")
    @Reactor func hidden() async throws {
        try await withServices { (store) async throws in
            try await open(store)
            let reply = await store.ask(
                .putSettings, in: bob.slot, PutSettings(bob, key: nil, readReceipts: .no, presence: .leave))
            #expect(reply?.status == 200)
            let receipts = [receipt(.read, bob, 3, 20), receipt(.delivered, bob, 5, 21), receipt(.read, alice, 4, 22)]
            #expect(try await bring(receipts, to: store) == [200, 200, 200])
            let expected = [
                "at alice 6 6 6", "at bob 7 5 0", "run alice 3 1-6 22", "run bob 1 1-5 20", "run bob 1 6-7 21",
            ]
            #expect(try rows(store) == expected)
            #expect(try await bring(receipts, to: store) == [200, 200, 200])
            #expect(try rows(store) == expected)
        }
    }

    @Test("with the end the members see them, and their devices are told nothing more")
    @Reactor func end() async throws {
        try await withServices { (store) async throws in
            try await open(store)
            _ = try await bring([receipt(.read, bob, 3, 20)], to: store)
            #expect(await store.conversation(conversation, for: "bob")?.status == 404)
            try await bring([.end], to: store)
            #expect(
                try store.database.query(
                    "SELECT told_read_seq FROM store.inbox WHERE user_id = 'bob'")[0][0] == Int64(5))
            let kinds: [Int16] = try store.database.query(
                "SELECT kind FROM store.user_changes WHERE user_id = 'bob' ORDER BY useq"
            ).map { $0[0] }
            #expect(kinds.count == 1)
            // It goes on from there.
            try await store.signal(read: 8, by: "bob", in: conversation)
            #expect(try rows(store).contains("at bob 8 8 8"))
        }
    }

    @Test("an import that is dropped leaves no receipt, and takes none from its first step on")
    @Reactor func dropping() async throws {
        try await withServices { (store) async throws in
            try await open(store)
            _ = try await bring([receipt(.read, bob, 3, 20)], to: store)
            let drop = DropReceipts(conversation)
            #expect(await store.askReceipt(.dropReceipts, in: conversation.slot, drop)?.status == 409)
            let closed = DropImport(conversation, receiptsAreGone: false)
            #expect(await store.ask(.dropImport, in: conversation.slot, closed)?.status == 202)
            #expect(
                try await bring([receipt(.read, bob, 3, 20), receipt(.read, bob, 4, 20)], to: store) == [200, 409])
            #expect(await store.askReceipt(.dropReceipts, in: conversation.slot, drop)?.status == 204)
            for table in ["horizons", "receipt_runs", "positions"] {
                #expect(try store.database.query("SELECT count(*) FROM receipt.\(table)")[0][0] == Int64(0), "\(table)")
            }
            #expect(try await bring([receipt(.read, bob, 3, 20)], to: store) == [409])
            #expect(try store.database.query("SELECT count(*) FROM receipt.positions")[0][0] == Int64(0))
            let piece = DropImport(conversation, receiptsAreGone: true)
            #expect(await store.ask(.dropImport, in: conversation.slot, piece)?.status == 204)
            #expect(try await bring([receipt(.read, bob, 3, 20)], to: store) == [404])
        }
    }

    @Test("who is erased meanwhile has none, and gets none any more")
    @Reactor func erased() async throws {
        try await withServices { (store) async throws in
            try await open(store)
            _ = try await bring([receipt(.read, bob, 3, 20), receipt(.read, alice, 3, 20)], to: store)
            _ = await store.ask(.eraseUser, in: bob.slot, EraseUser(bob))
            let isErased = "SELECT count(*) FROM store.erasures WHERE erased_at IS NOT NULL"
            #expect(await store.eventually { (try? store.database.query(isErased)[0][0]) == Int64(1) })
            #expect(try rows(store).allSatisfy { !$0.contains("bob") })
            #expect(try await bring([receipt(.read, bob, 3, 20)], to: store) == [409])
            #expect(try rows(store).count == 2)
        }
    }

    // MARK: Any history

    /// What the rules say, receipt by receipt.
    private struct Model {
        var delivered: Int64 = 0
        var read: Int64 = 0
        var latest = Int64.min
        /// By position: when it was delivered, and read.
        var deliveredAt: [Int64: Int64] = [:]
        var readAt: [Int64: Int64] = [:]

        mutating func take(_ kind: ImportReceipt.Kind, _ seq: Int64, _ at: Int64) -> UInt16 {
            let reached = kind == .read ? read : delivered, times = kind == .read ? readAt : deliveredAt
            if seq <= reached { return times[seq]! <= at ? 200 : 409 }
            guard at >= latest, at >= seq - 1 else { return 409 }
            latest = at
            for seq in 1...seq {
                if kind == .read, readAt[seq] == nil { readAt[seq] = at }
                if deliveredAt[seq] == nil { deliveredAt[seq] = at }
            }
            if kind == .read { read = seq }
            delivered = max(delivered, seq)
            return 200
        }
    }

    @Test("any receipts, in any order and cut anywhere, are judged and stored by the rules", arguments: UInt64(0)..<12)
    @Reactor func random(seed: UInt64) async throws {
        try await withServices { (store) async throws in
            try await open(store, messages: 20)
            var random = SeededRandom(seed: seed)
            var models = [alice: Model(), bob: Model()]
            var receipts: [ImportReceipt] = []
            var expected: [UInt16] = []
            for number in 0..<120 {
                let user = Bool.random(using: &random) ? alice : bob,
                    kind = Bool.random(using: &random) ? .read : .delivered as ImportReceipt.Kind
                let message = min(19, max(0, number / 6 + Int.random(in: -3...2, using: &random)))
                let at = Int64(message + 1 + Int.random(in: -1...6, using: &random))
                receipts.append(receipt(kind, user, message, at))
                expected.append(models[user]!.take(kind, Int64(message) + 2, at))
            }
            var results: [UInt16] = []
            while results.count < receipts.count {
                let count = min(receipts.count - results.count, Int.random(in: 1...40, using: &random))
                results += try await bring(Array(receipts[results.count..<results.count + count]), to: store)
            }
            #expect(results == expected)
            #expect(expected.contains(409) && expected.contains(200))
            for (user, model) in models { try compare(model, user, store) }
            // What was stored once is never refused.
            let stored = zip(receipts, expected).filter { $1 == 200 }.map(\.0)
            #expect(try await bring(stored, to: store).allSatisfy { $0 == 200 })
            for (user, model) in models { try compare(model, user, store) }
        }
    }

    @Reactor private func compare(_ model: Model, _ user: UserID, _ store: StoreUnderTest) throws {
        for (kind, times) in [(1, model.deliveredAt), (2, model.readAt)] {
            let rows = try store.database.query(
                """
                SELECT p.seq, extract(epoch FROM r.at - timestamptz '2020-01-01 00:00:00+00')::bigint
                FROM receipt.receipt_runs r, generate_series(r.from_seq, r.to_seq) AS p (seq)
                WHERE r.user_id = '\(user)' AND r.kind IN (\(kind), 3)
                """)
            #expect(rows.count == times.count)
            #expect(Dictionary(uniqueKeysWithValues: rows.map { ($0[0] as Int64, $0[1] as Int64) }) == times)
        }
    }
}
