import Models
import Postgres
import Reactor
import TestSupport
import Testing
import Wire

@testable import Receipt

/// Random concurrent signals of many users, compared with a model that needs no database.
@Suite(.timeLimit(.minutes(2))) struct ReceiptModelTests {
    private static let users = (1...6).map { "user\($0)" }
    private static let lastSeq: Int64 = 40
    private let conversations = (0..<8).map { ConversationID(UUIDBytes(high: 7, low: UInt64($0) * 33)) }

    init() { ReactorThread.start() }

    @Test(
        "whatever is sent, by however many services, through whatever breaks: horizons are the highest told, runs have no hole, versions are dense and times never decrease",
        arguments: [
            (1, false, Layout.plain), (2, false, .plain), (1, true, .plain), (2, true, .plain),
            (1, true, .partitions(8)),
        ])
    @Reactor func schedules(services: Int, breaksConnections: Bool, layout: Layout) async throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededRandom(seed: seed)
        let receipt = try await ReceiptUnderTest(services: services, window: 10, layout: layout)
        for conversation in conversations {
            try receipt.create(conversation, members: Self.users, lastSeq: Self.lastSeq)
        }
        var expected: [HorizonKey: Horizons] = [:]
        var responses: [UInt16?] = []
        let count = 600
        for number in 0..<count {
            let conversation = conversations.randomElement(using: &random)!
            let user = Self.users.randomElement(using: &random)!
            let told = Horizons(
                delivered: .random(in: 0...Self.lastSeq + 5, using: &random),
                read: .random(in: 0...Self.lastSeq / 2, using: &random))
            let key = HorizonKey(conversation: conversation, user: UserID(user)!)
            expected[key, default: .none].merge(clamped(told))
            Reactor.spawn {
                responses.append(
                    await receipt.signal(conversation, user, delivered: told.delivered, read: told.read))
            }
            if number % 20 == 0 { await Reactor.sleep(for: .milliseconds(3)) }
            if breaksConnections, number % 200 == 100 { try receipt.database.endSessions(of: "parley-receipt-writer") }
        }
        await waitUntil { responses.count == count }
        #expect(responses.allSatisfy { $0 == 202 }, "seed \(seed)")
        for (key, horizons) in expected where horizons != .none {
            #expect(try receipt.horizons(key.conversation, key.user.name) == horizons, "seed \(seed)")
            #expect(try tiles(receipt, key, horizons), "seed \(seed)")
        }
        #expect(try versionsAreDense(receipt.database.connect()), "seed \(seed)")
        await receipt.close()
    }

    private func clamped(_ told: Horizons) -> Horizons {
        Horizons(delivered: min(max(told.delivered, told.read), Self.lastSeq), read: min(told.read, Self.lastSeq))
    }

    /// Whether the runs of a user cover exactly the positions of the horizons, each once.
    @Reactor private func tiles(_ receipt: ReceiptUnderTest, _ key: HorizonKey, _ horizons: Horizons) throws -> Bool {
        let runs = try receipt.runs(key.conversation, key.user.name).map { run in
            run.split { $0 == ":" || $0 == "-" }.compactMap { Int64($0) }
        }
        func end(ofKinds kinds: Set<Int64>) -> Int64? {
            runs.filter { kinds.contains($0[0]) }.sorted { $0[1] < $1[1] }
                .reduce(0) { end, run in end.flatMap { run[1] == $0 + 1 ? run[2] : nil } }
        }
        return end(ofKinds: [1, 3]) == horizons.delivered && end(ofKinds: [2, 3]) == horizons.read
    }

    /// Whether every version of a conversation has its time in the runs. There must be at least as many different
    /// commits as versions, and no run may be later than the position's last time.
    private func versionsAreDense(_ database: BlockingConnection) throws -> Bool {
        try database.query(
            """
            SELECT FROM receipt.positions p
            WHERE status_version <> (SELECT max(version) FROM receipt.horizons h WHERE h.conversation_id = p.conversation_id)
               OR last_at <> (SELECT max(at) FROM receipt.receipt_runs r WHERE r.conversation_id = p.conversation_id)
               OR status_version < (SELECT count(DISTINCT at) FROM receipt.receipt_runs r WHERE r.conversation_id = p.conversation_id)
               OR EXISTS (SELECT FROM (
                    SELECT at < lag(at) OVER (PARTITION BY user_id, kind ORDER BY from_seq) AS back
                    FROM receipt.receipt_runs r WHERE r.conversation_id = p.conversation_id) o WHERE back)
            """
        ).isEmpty
    }
}
