import Models
import Postgres
import PostgresSupport
import Reactor
import TestSupport
import Testing

@testable import Slots

/// Owners of whole shards, as on one node of Citus. `placement.hold` is Citus's in `Tests/Citus`; here it looks into a table.
@Suite(.timeLimit(.minutes(1))) struct ShardShareTests {
    let database: TestDatabase
    /// Four shards of 64 slots, whose tables have their own names.
    private static let shards = (0..<4).map { number in
        Placement.Shard(
            number: Int64(number), slots: Slot.all.filter { $0.number % 4 == UInt8(number) },
            node: NodeAddress(host: "nowhere", port: 1),
            names: ShardNames(tables: ["shop.slots": "shop.slots_\(number)"], views: []))
    }

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
        try database.execute(
            """
            CREATE SCHEMA shop;
            CREATE TABLE shop.services (id bigint PRIMARY KEY, seen_at timestamptz NOT NULL);
            CREATE SCHEMA placement;
            CREATE TABLE placement.present (shard bigint PRIMARY KEY);
            INSERT INTO placement.present SELECT generate_series(0, 3);
            CREATE FUNCTION placement.hold(wanted bigint, is_proved boolean) RETURNS void LANGUAGE plpgsql AS $$
            BEGIN
                IF NOT EXISTS (SELECT FROM placement.present WHERE shard = wanted) THEN
                    RAISE 'the shard is on another node' USING ERRCODE = 'PY001';
                END IF;
            END $$
            """)
        for number in 0..<4 {
            try database.execute(
                """
                CREATE TABLE shop.slots_\(number) (
                    slot smallint PRIMARY KEY, epoch bigint NOT NULL DEFAULT 0, noted_epoch bigint NOT NULL DEFAULT -1);
                INSERT INTO shop.slots_\(number) (slot) SELECT generate_series(\(number), 255, 4)
                """)
        }
    }

    @Reactor final class Member: SlotOwnerDelegate {
        let connection: Connection
        private(set) var owner: SlotOwner!
        private(set) var held: [Slot: Int64] = [:]

        init(_ name: String, _ database: TestDatabase, _ shards: [Placement.Shard] = ShardShareTests.shards) {
            connection = database.open(name: name)
            owner = SlotOwner(
                connection: connection, schema: "shop", lockClass: 100, delegate: self, sharesShards: true)
            owner.setShards(shards)
        }

        func acquired(_ slot: Slot, epoch: Int64) { held[slot] = epoch }
        func lost(_ slot: Slot) { held[slot] = nil }
        func ended(session: Int32) {}

        /// The shards of which it holds a slot.
        var shards: Set<UInt8> { Set(held.keys.map { $0.number % 4 }) }
    }

    @Test("members share the shards of a node, each with all of its slots under one epoch")
    @Reactor func sharing() async {
        let first = Member("a", database)
        await waitUntil { first.held.count == 256 }
        let second = Member("b", database)
        await waitUntil { first.held.count == 128 && second.held.count == 128 }
        #expect(first.shards.count == 2 && second.shards.count == 2 && first.shards.isDisjoint(with: second.shards))
        #expect(first.held.values.allSatisfy { $0 == 1 } && second.held.values.allSatisfy { $0 == 2 })
        second.connection.close()
        await waitUntil { first.held.count == 256 }
    }

    @Test("a shard that has moved away is given up, and taken when it comes back, under a higher epoch")
    @Reactor func moving() async throws {
        let member = Member("a", database)
        await waitUntil { member.held.count == 256 }
        try database.execute("DELETE FROM placement.present WHERE shard = 2")
        member.owner.setShards(Self.shards.filter { $0.number != 2 })
        #expect(member.shards == [0, 1, 3])
        try database.execute("INSERT INTO placement.present VALUES (2)")
        member.owner.setShards(Self.shards)
        await waitUntil { member.held.count == 256 }
        #expect(member.held[Slot(2)] == 2 && member.held[Slot(3)] == 1)
    }

    @Test("a shard that is not where the metadata of before said is owned by nobody, and the others are")
    @Reactor func gone() async throws {
        try database.execute("DELETE FROM placement.present WHERE shard = 1")
        let member = Member("a", database)
        await waitUntil { member.held.count == 192 }
        #expect(member.shards == [0, 2, 3])
        let locks = """
            SELECT FROM pg_locks WHERE locktype = 'advisory' AND classid = 100
            AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
            """
        #expect(try database.query(locks).count == 3, "nor does anybody keep its lock")
    }

    @Test("a shard in whose name nothing can be written is given up, and acquired again under a new epoch")
    @Reactor func givenUp() async {
        let member = Member("a", database)
        await waitUntil { member.held.count == 256 }
        member.owner.giveUp(Slot(1))
        #expect(member.shards == [0, 2, 3])
        await waitUntil { member.held.count == 256 }
        #expect(member.held[Slot(5)] == 2 && member.held[Slot(4)] == 1)
    }
}
