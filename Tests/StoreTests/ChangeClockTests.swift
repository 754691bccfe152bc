import Foundation
import Models
import PostgresSupport
import Reactor
import ServiceKit
import TestSupport
import Testing
import Wire

@testable import Receipt
@testable import Slots
@testable import Store

/// The trusted time, computed from two clocks and the elapsed time.
@Suite struct TrustedTimeTests {
    private let noon = Timestamp(milliseconds: 1_800_000_000_000)
    private let day: Int64 = 86_400_000

    private func noon(_ milliseconds: Int64) -> Timestamp {
        Timestamp(milliseconds: noon.milliseconds + milliseconds)
    }

    /// Returns the time this many milliseconds after the first reading.
    private func at(_ milliseconds: Int64) -> MonotonicTime {
        MonotonicTime(nanoseconds: UInt64(1_000_000_000 + milliseconds * 1_000_000))
    }

    @Test("a clock that jumps is not followed, whichever it is, and the database's is where they are near each other")
    func jumps() {
        var trusted = TrustedTime()
        #expect(trusted.time(at: at(0)) == nil)
        trusted.observe(database: noon(7), own: noon, at: at(0))
        #expect(trusted.time(at: at(500)) == noon(507))
        for jump in [day, -day, 70_000, -70_000] {
            trusted.observe(database: noon(1_000 + jump), own: noon(1_000), at: at(1_000))
            #expect(trusted.time(at: at(2_000)) == noon(2_007))
            trusted.observe(database: noon(2_007), own: noon(2_000 + jump), at: at(2_000))
            #expect(trusted.time(at: at(2_000)) == noon(2_007))
        }
        trusted.observe(database: noon(2_900), own: noon(3_000 + day), at: at(3_000))
        #expect(trusted.time(at: at(3_000)) == noon(2_900), "it goes its own way, not far")
    }

    @Test("when both are set that is the time, and at first the earlier one is")
    func agreement() {
        var trusted = TrustedTime()
        trusted.observe(database: noon(day), own: noon, at: at(0))
        #expect(trusted.time(at: at(0)) == noon)
        trusted.observe(database: noon(day), own: noon(day), at: at(1_000))
        #expect(trusted.time(at: at(1_000)) == noon(day))
        trusted.observe(database: noon, own: noon, at: at(2_000))
        #expect(trusted.time(at: at(2_000)) == noon)
        trusted = TrustedTime()
        trusted.observe(database: noon, own: noon(day), at: at(0))
        #expect(trusted.time(at: at(0)) == noon)
    }
}

/// Times of changes while PostgreSQL's clock is being set. The store calls a function of this database that shadows
/// PostgreSQL's own.
@Suite(.timeLimit(.minutes(2)))
struct ChangeClockTests {
    init() { ReactorThread.start() }

    private let conversation = ConversationID(.random)
    private static let settableClock = """
        CREATE SCHEMA clock;
        CREATE TABLE clock.ahead (by interval NOT NULL);
        INSERT INTO clock.ahead VALUES ('0');
        CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
            'SELECT pg_catalog.clock_timestamp() + by FROM clock.ahead';
        CREATE FUNCTION clock.statement_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
            'SELECT pg_catalog.statement_timestamp() + by FROM clock.ahead';
        DO $$ BEGIN
            EXECUTE format('ALTER DATABASE %I SET search_path = clock, pg_catalog', current_database());
        END $$
        """

    @Reactor private func withStore(_ body: (StoreUnderTest) async throws -> Void) async throws {
        let store = try await StoreUnderTest(preparedBy: Self.settableClock)
        defer { store.close() }
        _ = await store.create(conversation, by: "alice", with: ["bob"])
        while store.store.clock.difference == nil { await Reactor.sleep(for: .milliseconds(5)) }
        try await body(store)
    }

    /// Sets PostgreSQL's clock and waits until the store has read it.
    @Reactor private func set(_ ahead: String, _ store: StoreUnderTest) async throws {
        _ = try store.database.query("UPDATE clock.ahead SET by = $1::interval") { $0.add(ahead) }
        let seconds = try store.database.query("SELECT extract(epoch FROM by)::bigint FROM clock.ahead")[0][0] as Int64
        while abs((store.store.clock.difference ?? 0) - seconds * 1000) > 30_000 {
            await Reactor.sleep(for: .milliseconds(20))
        }
    }

    /// Returns when a message sent now was created, relative to now, in seconds.
    @Reactor private func send(_ draft: StoreUnderTest.Draft, _ store: StoreUnderTest) async throws -> Double {
        let reply = try #require(await store.send(draft, from: "alice", to: conversation).first)
        #expect(reply.status == 201)
        return try store.database.query(
            """
            SELECT extract(epoch FROM created_at - pg_catalog.clock_timestamp())::float8::text
            FROM store.messages WHERE id = $1
            """
        ) { $0.add(draft.id) }.map { Double($0[0] as String) ?? .nan }[0]
    }

    @Test("a clock that jumps ahead and back leaves times near the real one, and nothing editable for longer")
    @Reactor func ahead() async throws {
        try await withStore { store in
            let first = StoreUnderTest.Draft(), during = StoreUnderTest.Draft(), after = StoreUnderTest.Draft()
            #expect(abs(try await send(first, store)) < 30)
            try await set("1 day", store)
            #expect(try await send(during, store) < 61)
            #expect(await store.write(.edit(first.id, text: "in time"), by: "alice", in: conversation)?.status == 200)
            try await set("0", store)
            #expect(abs(try await send(after, store)) < 61)
            let times = try store.database.query("SELECT created_at FROM store.messages WHERE kind <> 3 ORDER BY seq")
            #expect(times.count == 3)
            #expect(zip(times, times.dropFirst()).allSatisfy { ($0[0] as Timestamp) <= ($1[0] as Timestamp) })
        }
    }

    @Test("no moment of a jump gets through: the bounds are there before the jump is seen")
    @Reactor func unseen() async throws {
        try await withStore { store in
            await Reactor.sleep(for: .milliseconds(100))
            _ = try store.database.query("UPDATE clock.ahead SET by = '1 day'")
            #expect(try await send(StoreUnderTest.Draft(), store) < 61)
        }
    }

    @Test("a jump reaches neither the times of receipts nor those by which outcomes are forgotten")
    @Reactor func receipts() async throws {
        try await withStore { store in
            try await store.startReceipt()
            while store.receipt?.clock.difference == nil { await Reactor.sleep(for: .milliseconds(5)) }
            await Reactor.sleep(for: .milliseconds(100))
            _ = try store.database.query("UPDATE clock.ahead SET by = '1 day'")
            #expect(try await send(StoreUnderTest.Draft(), store) < 61)
            try await store.signal(read: 2, by: "bob", in: conversation)
            #expect(await store.write(.rename("now"), by: "alice", in: conversation)?.status == 200)
            #expect(await store.put(readReceipts: .no, by: "alice")?.status == 200)
            for (table, count) in [("receipt.receipt_runs", 1), ("store.recent_outcomes", 2)] {
                let rows = try store.database.query(
                    "SELECT at < pg_catalog.clock_timestamp() + interval '61 s' FROM \(table)")
                #expect(rows.map { $0[0] as Bool } == Array(repeating: true, count: count), "\(table)")
            }
        }
    }

    @Test("a clock that is set back opens no edit window again")
    @Reactor func back() async throws {
        try await withStore { store in
            let draft = StoreUnderTest.Draft()
            _ = try await send(draft, store)
            _ = try store.database.query(
                "UPDATE store.messages SET created_at = pg_catalog.clock_timestamp() - interval '20 minutes'")
            try await set("-1 day", store)
            let reply = await store.write(.edit(draft.id, text: "too late"), by: "alice", in: conversation)
            #expect(reply?.status == 403)
            #expect(abs(try await send(StoreUnderTest.Draft(), store)) < 61)
        }
    }

    @Test("a message from time to come, as a clock left it that nobody watched, is not editable until then")
    @Reactor func poisoned() async throws {
        try await withStore { store in
            let draft = StoreUnderTest.Draft()
            _ = try await send(draft, store)
            _ = try store.database.query(
                "UPDATE store.messages SET created_at = pg_catalog.clock_timestamp() + interval '1 day'")
            let reply = await store.write(.edit(draft.id, text: "early"), by: "alice", in: conversation)
            #expect(reply?.status == 403)
        }
    }
}
