import PostgresSupport
import TestSupport
import Testing

@testable import Postgres

@Suite(.timeLimit(.minutes(1))) struct MigratorTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
    }

    private func migration(_ number: Int32, _ sql: String) -> Migration {
        Migration(number, "step \(number)", sql: Array(sql.utf8))
    }

    private var create: Migration { migration(1, "CREATE TABLE shop.item (n bigint); CREATE INDEX ON shop.item (n)") }
    private var fill: Migration { migration(2, "INSERT INTO shop.item VALUES (1)") }

    @Test("migrations are applied once, in order, the new ones when there are new ones")
    func order() throws {
        #expect(try Migrator(schema: "shop", [create]).apply(toDatabaseAt: database.url).map(\.number) == [1])
        let both = Migrator(schema: "shop", [create, fill])
        #expect(try both.apply(toDatabaseAt: database.url).map(\.number) == [2])
        #expect(try both.apply(toDatabaseAt: database.url).isEmpty)
        try both.requireVersion(ofDatabaseAt: database.url)
        #expect(try database.query("SELECT n FROM shop.item").map { $0[0] as Int64 } == [1])
        #expect(
            try database.query("SELECT name FROM shop.migrations ORDER BY number").map { $0[0] as String }
                == ["step 1", "step 2"])
    }

    @Test("several migrators may start at once")
    func concurrent() async throws {
        let migrator = Migrator(schema: "shop", [create, fill])
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { [url = database.url] in try migrator.apply(toDatabaseAt: url).count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.sorted() == [0, 0, 0, 2])
    }

    @Test("a migration that fails leaves nothing of itself behind")
    func failure() throws {
        let broken = Migrator(schema: "shop", [create, migration(2, "INSERT INTO shop.item VALUES (7); SELECT 1 / 0")])
        #expect(throws: MigrationError.database(DatabaseError(SQLState(rawValue: "22012"), "division by zero"))) {
            try broken.apply(toDatabaseAt: database.url)
        }
        #expect(try database.query("SELECT n FROM shop.item").isEmpty)
        #expect(throws: MigrationError.databaseIsOlder(missing: 2)) {
            try broken.requireVersion(ofDatabaseAt: database.url)
        }
    }

    @Test("an edited migration and a database from the future are refused")
    func refusals() throws {
        _ = try Migrator(schema: "shop", [create, fill]).apply(toDatabaseAt: database.url)
        let edited = Migrator(schema: "shop", [create, migration(2, "INSERT INTO shop.item VALUES (2)")])
        #expect(throws: MigrationError.edited(number: 2)) { try edited.apply(toDatabaseAt: database.url) }
        #expect(throws: MigrationError.edited(number: 2)) { try edited.requireVersion(ofDatabaseAt: database.url) }
        let older = Migrator(schema: "shop", [create])
        #expect(throws: MigrationError.databaseIsNewer(number: 2)) {
            try older.requireVersion(ofDatabaseAt: database.url)
        }
    }

    private var catalog: Migration {
        migration(
            1,
            """
            CREATE TABLE shop.item (
                n bigint NOT NULL CHECK (n > 0), name text DEFAULT 'none', slot smallint, PRIMARY KEY (n, slot)
            ) WITH (fillfactor = 70);
            ALTER TABLE shop.item ALTER COLUMN name SET STATISTICS 0;
            CREATE UNIQUE INDEX item_name ON shop.item (name, slot) WHERE n > 1;
            CREATE TABLE shop.counter (slot smallint PRIMARY KEY);
            """)
    }
    private var later: Migration {
        migration(
            2,
            """
            CREATE TABLE shop.later (LIKE shop.item INCLUDING ALL);
            INSERT INTO shop.later (n, name, slot) VALUES (1, 'first', 0), (1, 'last', 255);
            """)
    }

    @Test(
        "a new database can be cut into partitions: everything about a table stays, and a later table is cut with what it has"
    )
    func partitions() throws {
        let first = Migrator(schema: "shop", [catalog]), both = Migrator(schema: "shop", [catalog, later])
        _ = try first.apply(toDatabaseAt: database.url, layout: .partitions(3))
        _ = try first.apply(toDatabaseAt: database.url, layout: .partitions(3))
        _ = try both.apply(toDatabaseAt: database.url)
        let cut = try database.query(
            """
            SELECT c.relname::text, count(*), min(pg_get_expr(p.relpartbound, p.oid)), min(p.reloptions[1]::text)
            FROM pg_class c JOIN pg_inherits ON inhparent = c.oid JOIN pg_class p ON p.oid = inhrelid
            WHERE c.relkind = 'p' AND c.relnamespace = 'shop'::regnamespace GROUP BY 1 ORDER BY 1
            """)
        #expect(cut.map { $0[0] as String } == ["item", "later"])
        #expect(cut.map { $0[1] as Int64 } == [3, 3])
        #expect(cut[0][2] as String == "FOR VALUES FROM ('0') TO ('85')")
        #expect(cut[0][3] as String == "fillfactor=70")
        let kept = try database.query(
            """
            SELECT (SELECT string_agg(indexrelid::regclass::text, ' ' ORDER BY indexrelid::regclass::text) FROM pg_index
                    WHERE indrelid = 'shop.item'::regclass),
                   (SELECT string_agg(conname, ' ' ORDER BY conname) FROM pg_constraint
                    WHERE conrelid = 'shop.item'::regclass),
                   (SELECT sum(attstattarget) FROM pg_attribute
                    WHERE attrelid = 'shop.item_2'::regclass AND attname = 'name')
            """)[0]
        #expect(kept[0] as String == "shop.item_name shop.item_pkey")
        #expect(kept[1] as String == "item_n_check item_pkey")
        #expect(kept[2] as Int64 == 0)
        try database.execute("INSERT INTO shop.item (n, slot) VALUES (1, 0), (1, 255)")
        #expect(try database.query("SELECT n FROM ONLY shop.item_2").map { $0[0] as Int64 } == [1])
        #expect(try database.query("SELECT name FROM ONLY shop.later_2").map { $0[0] as String } == ["last"])
        #expect(try database.query("SELECT FROM shop.later").count == 2)
    }

    @Test("tables in use are not cut, nor those that are cut already cut otherwise")
    func refusedLayouts() throws {
        let migrator = Migrator(schema: "shop", [catalog])
        _ = try migrator.apply(toDatabaseAt: database.url)
        try database.execute("INSERT INTO shop.item (n, slot) VALUES (1, 0)")
        #expect(throws: MigrationError.self) { try migrator.apply(toDatabaseAt: database.url, layout: .partitions(4)) }
        try database.execute("DELETE FROM shop.item")
        _ = try migrator.apply(toDatabaseAt: database.url, layout: .partitions(4))
        #expect(throws: MigrationError.self) { try migrator.apply(toDatabaseAt: database.url, layout: .partitions(5)) }
    }

    @Test("more partitions than the server has locks for are refused before anything is made, with what it needs")
    func tooManyPartitions() throws {
        let tables = (0..<60).map {
            "CREATE TABLE shop.item_\($0) (n bigint, name text, slot smallint, PRIMARY KEY (n, slot));"
        }
        let index = "CREATE INDEX CONCURRENTLY IF NOT EXISTS names ON shop.item_0 (name);"
        let migrator = Migrator(
            schema: "shop",
            [migration(1, tables.joined(separator: "\n")), migration(2, "-- parley: no transaction\n" + index)])
        let error = #expect(throws: MigrationError.self) {
            try migrator.apply(toDatabaseAt: database.url, layout: .partitions(256))
        }
        guard case .tooFewLocks(let present, let needed) = error else {
            Issue.record("\(error.debugDescription)")
            return
        }
        let setting = try database.query("SELECT current_setting('max_locks_per_transaction')::bigint")[0][0] as Int64
        #expect(present == setting && needed > setting)
        #expect(try database.query("SELECT FROM shop.migrations").isEmpty)
        #expect(try database.query("SELECT FROM pg_class WHERE relname LIKE 'item%'").isEmpty)
        _ = try migrator.apply(toDatabaseAt: database.url, layout: .partitions(2))
    }

    @Test("without Citus a distributed database cannot be made, and nobody is told otherwise")
    func noCitus() throws {
        #expect(throws: MigrationError.hasNoCitus) {
            try Migrator(schema: "shop", [catalog]).apply(toDatabaseAt: database.url, layout: .citus(shards: nil))
        }
        #expect(try database.query("SELECT FROM shop.migrations").isEmpty)
    }

    @Test("layouts are asked for on the command line")
    func arguments() {
        #expect(Layout(arguments: []) == .plain)
        #expect(Layout(arguments: ["--partitions", "16"]) == .partitions(16))
        #expect(Layout(arguments: ["--citus"]) == .citus(shards: nil))
        #expect(Layout(arguments: ["--citus", "8"]) == .citus(shards: 8))
        let wrong = [
            ["--partitions"], ["--partitions", "0"], ["--partitions", "257"], ["--citus", "0"], ["--citus", "8", "8"],
            ["more"],
        ]
        for wrong in wrong {
            #expect(Layout(arguments: wrong[...]) == nil)
        }
    }

    @Test("an empty database lacks the first migration")
    func empty() {
        #expect(throws: MigrationError.databaseIsOlder(missing: 1)) {
            try Migrator(schema: "shop", [create]).requireVersion(ofDatabaseAt: database.url)
        }
    }
}
