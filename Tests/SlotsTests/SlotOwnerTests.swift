import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Slots

@Suite(.timeLimit(.minutes(1))) struct SlotOwnerTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
        try database.execute(
            """
            CREATE SCHEMA shop;
            CREATE TABLE shop.slots (
                slot smallint PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0, noted_epoch bigint NOT NULL DEFAULT -1);
            INSERT INTO shop.slots (slot) SELECT generate_series(0, 255);
            CREATE TABLE shop.services (id bigint PRIMARY KEY, seen_at timestamptz NOT NULL)
            """)
    }

    /// A process that owns slots.
    @Reactor final class Member: SlotOwnerDelegate {
        let connection: Connection
        private(set) var owner: SlotOwner!
        private(set) var held: [Slot: Int64] = [:]

        private(set) var ended: [Int32] = []

        init(
            _ name: String, _ database: TestDatabase, settings: [(name: String, value: String)] = [],
            silenceBound: Duration = SlotOwner.silenceBound
        ) {
            connection = database.open(name: name, settings: settings)
            owner = SlotOwner(
                connection: connection, schema: "shop", lockClass: 100, delegate: self, silenceBound: silenceBound)
        }

        func acquired(_ slot: Slot, epoch: Int64) { held[slot] = epoch }
        func lost(_ slot: Slot) { held[slot] = nil }
        func ended(session: Int32) { ended.append(session) }

        func drain() async {
            await withUnsafeContinuation { continuation in owner.drain { continuation.resume() } }
        }
    }

    @Test("a single member owns every slot, under the epoch stored in the database")
    @Reactor func alone() async throws {
        let member = Member("a", database)
        await waitUntil { member.held.count == 256 }
        #expect(member.held.values.allSatisfy { $0 == 1 } && member.held == member.owner.epochs)
        #expect(try database.query("SELECT FROM shop.slots WHERE epoch = 1").count == 256)
    }

    @Test("two members share all slots evenly and without overlap, and a third gets its share")
    @Reactor func joining() async {
        let first = Member("a", database)
        await waitUntil { first.held.count == 256 }
        let second = Member("b", database)
        await waitUntil { second.held.count == 128 }
        #expect(first.held.count == 128 && Set(first.held.keys).isDisjoint(with: second.held.keys))
        #expect(second.held.values.allSatisfy { $0 == 2 })
        let third = Member("c", database)
        await waitUntil { [first, second, third].allSatisfy { (85...86).contains($0.held.count) } }
        #expect(Set([first, second, third].flatMap { $0.held.keys }).count == 256)
    }

    @Test("the slots of a member whose session ends are taken over, however fresh its heartbeat, under higher epochs")
    @Reactor func takeover() async throws {
        let survivor = Member("a", database), victim = Member("b", database)
        await waitUntil { survivor.held.count == 128 && victim.held.count == 128 }
        let inherited = victim.held
        victim.connection.close()
        #expect(victim.held.isEmpty)
        try database.execute("UPDATE shop.services SET seen_at = clock_timestamp() + interval '1 hour'")
        await waitUntil { survivor.held.count == 256 }
        #expect(inherited.allSatisfy { slot, epoch in survivor.held[slot]! > epoch })
    }

    @Test("a member that loses its connection owns nothing, reconnects and gets its share again")
    @Reactor func reconnection() async throws {
        let steady = Member("a", database), shaken = Member("b", database)
        await waitUntil { steady.held.count == 128 && shaken.held.count == 128 }
        var heldAtLoss = -1
        shaken.connection.onLoss { _ in heldAtLoss = shaken.held.count }
        try database.endSessions(of: "b")
        await waitUntil { heldAtLoss == 0 }
        await waitUntil { steady.held.count == 128 && shaken.held.count == 128 }
        #expect(Set(steady.held.keys).isDisjoint(with: shaken.held.keys))
    }

    @Test("a member that cannot release slots gives up its session, so that nobody waits for them")
    @Reactor func failedRelease() async throws {
        try database.execute(
            """
            CREATE SCHEMA broken;
            CREATE FUNCTION broken.pg_advisory_unlock(integer, integer) RETURNS boolean LANGUAGE plpgsql AS
            $$ BEGIN RAISE EXCEPTION 'not now'; END $$
            """)
        let stuck = Member("a", database, settings: [("search_path", "broken, pg_catalog")])
        await waitUntil { stuck.held.count == 256 }
        let other = Member("b", database)
        await waitUntil { other.held.count == 128 && stuck.held.count == 128 }
        #expect(Set(stuck.held.keys).isDisjoint(with: other.held.keys))
    }

    /// A former owner may still be writing that all is noted while the next one takes the slots over.
    @Test("slots are taken over and noted in order, so the two never wait for each other in a circle")
    @Reactor func order() async throws {
        try database.execute("UPDATE shop.slots SET epoch = 0 WHERE slot < 128")  // Puts them behind the others.
        let statements = NoteStatements("shop", "notes", existence: ("shop.conversations", "id"))
        let slots = Slot.all.reversed()
        let former = database.open(name: "former")
        await waitUntil { former.isUp }
        let member = try await locksBefore(Slot(200)) { Member("a", database) }
        await waitUntil { member.held.count == 256 }
        try await locksBefore(Slot(200)) {
            former.submit {
                $0.execute(unprepared: statements.completed) { parameters, input in
                    parameters.set(input.slots, to: Array(slots))
                    parameters.set(input.epochs, to: slots.map { _ in 1 })
                }
            } completion: { _ in
            }
        }
        await waitUntil { (try? database.query("SELECT FROM shop.slots WHERE noted_epoch = 1").count) == 256 }
    }

    /// Holds the row of a slot until what `begin` starts waits for it, and expects that it holds the rows before it alone.
    @Reactor private func locksBefore<Waiting>(_ slot: Slot, _ begin: () -> Waiting) async throws -> Waiting {
        let blocker = try database.connect()
        try blocker.execute("BEGIN; SELECT FROM shop.slots WHERE slot = \(slot.number) FOR UPDATE")
        let waiting = begin()
        await waitUntil {
            let waiting = try? database.query("SELECT FROM pg_locks WHERE NOT granted AND locktype = 'transactionid'")
            return waiting?.isEmpty == false
        }
        let free = try database.query("SELECT slot FROM shop.slots FOR UPDATE SKIP LOCKED").map { $0[0] as Int16 }
        #expect(free.sorted() == Array(Int16(slot.number) + 1...255))
        try blocker.execute("COMMIT")
        return waiting
    }

    @Test("a drained member releases its slots and acquires none again")
    @Reactor func draining() async throws {
        let leaving = Member("a", database), staying = Member("b", database)
        await waitUntil { leaving.held.count == 128 && staying.held.count == 128 }
        await leaving.drain()
        #expect(leaving.held.isEmpty)
        await waitUntil { staying.held.count == 256 }
        #expect(leaving.held.isEmpty && leaving.connection.isUp)
        #expect(try database.query("SELECT FROM shop.services").count == 1)
    }

    // MARK: Silence

    /// A member that owns every slot and had one heartbeat, like a process that was stopped then.
    @Reactor private func silentMember() async throws -> Connection {
        let connection = database.open(name: "silent")
        await waitUntil { connection.isUp }
        _ = try await connection.transaction { batch in
            batch.execute(sql: "INSERT INTO shop.services VALUES (77, clock_timestamp())")
            batch.execute(sql: "SELECT pg_advisory_lock(101, 77)")
            batch.execute(sql: "SELECT pg_advisory_lock(100, slot) FROM generate_series(0, 255) AS slot")
        }
        return connection
    }

    @Test("the session of a member that is silent is ended by the others, and its slots are taken over")
    @Reactor func silence() async throws {
        let silent = try await silentMember()
        var isLost = false
        silent.onLoss { _ in isLost = true }
        let observer = Member("a", database, silenceBound: .seconds(2))
        await waitUntil { observer.held.count == 256 }
        await waitUntil { isLost }
        #expect(observer.ended.count == 1)
    }

    @Test("a member that waits for the database is not silent: its successor would wait, too")
    @Reactor func waiting() async throws {
        let waiting = try await silentMember()
        var isComplete = false
        waiting.submit {
            $0.execute(sql: "SELECT pg_sleep(3)")
        } completion: { outcome in
            if case .committed = outcome { isComplete = true }
        }
        let observer = Member("a", database, silenceBound: .seconds(1))
        await waitUntil { isComplete }
        // Now it is.
        await waitUntil { observer.held.count == 256 }
        #expect(observer.ended.count == 1)
    }
}
