import PostgresSupport
import TestSupport
import Testing

@testable import Postgres

/// Migrations that run beside services: without a transaction, and beside builds that do not know them.
@Suite(.timeLimit(.minutes(1))) struct LiveMigrationTests {
    let database: TestDatabase

    init() throws {
        ReactorThread.start()
        database = try TestDatabase()
    }

    private func migration(_ number: Int32, _ sql: String) -> Migration {
        Migration(number, "step \(number)", sql: Array(sql.utf8))
    }

    private var create: Migration {
        migration(
            1,
            """
            CREATE TABLE shop.item (n bigint, slot smallint, name text, PRIMARY KEY (n, slot));
            CREATE TABLE shop.counter (slot smallint PRIMARY KEY);
            """)
    }

    private var index: Migration {
        migration(
            2,
            """
            -- parley: no transaction
            -- Names are looked for; one of them.
            CREATE UNIQUE INDEX CONCURRENTLY IF NOT EXISTS item_name ON shop.item(name, slot) WHERE name <> ';';
            ALTER TABLE shop.item DROP CONSTRAINT IF EXISTS short;
            ALTER TABLE shop.item ADD CONSTRAINT short CHECK (length(name) < 9) NOT VALID;
            ALTER TABLE shop.item VALIDATE CONSTRAINT short;
            DO $$ BEGIN
                FOR batch IN 1..2 LOOP INSERT INTO shop.counter VALUES (batch) ON CONFLICT DO NOTHING; COMMIT; END LOOP;
            END $$
            """)
    }

    private func migrator(_ migrations: Migration...) -> Migrator { Migrator(schema: "shop", migrations) }

    /// Names of the valid indexes whose name begins so.
    private func validIndexes(_ prefix: String = "item_name") throws -> [String] {
        let rows = try database.query(
            """
            SELECT relname::text FROM pg_index JOIN pg_class ON oid = indexrelid
            WHERE indisvalid AND relname LIKE $1 || '%' ORDER BY 1
            """
        ) { $0.add(prefix) }
        return rows.map { $0[0] }
    }

    @Test("without a transaction an index is made concurrently, a constraint validated, rows filled in by batches")
    func noTransaction() throws {
        let migrator = migrator(create, index)
        #expect(try migrator.apply(toDatabaseAt: database.url).map(\.number) == [1, 2])
        try migrator.requireVersion(ofDatabaseAt: database.url)
        #expect(try validIndexes() == ["item_name"])
        #expect(try database.query("SELECT slot FROM shop.counter").count == 2)
        #expect(
            try database.query("SELECT convalidated FROM pg_constraint WHERE conname = 'short'").map { $0[0] as Bool }
                == [true])
    }

    @Test("what fails is not noted as applied, and a repetition builds the invalid index anew")
    func interruption() throws {
        _ = try migrator(create).apply(toDatabaseAt: database.url)
        try database.execute("INSERT INTO shop.item VALUES (1, 1, 'a'), (2, 1, 'a')")
        #expect(throws: MigrationError.self) { try migrator(create, index).apply(toDatabaseAt: database.url) }
        #expect(try database.query("SELECT FROM pg_index WHERE NOT indisvalid").count == 1)
        #expect(throws: MigrationError.databaseIsOlder(missing: 2)) {
            try migrator(create, index).requireVersion(ofDatabaseAt: database.url)
        }

        try database.execute("DELETE FROM shop.item WHERE n = 2")
        #expect(try migrator(create, index).apply(toDatabaseAt: database.url).map(\.number) == [2])
        #expect(try validIndexes() == ["item_name"])
    }

    @Test("a table in partitions gets its index on one after the other, also when it was interrupted between them")
    func partitions() throws {
        _ = try migrator(create).apply(toDatabaseAt: database.url, layout: .partitions(3))
        try database.execute("INSERT INTO shop.item VALUES (1, 100, 'a'), (2, 100, 'a')")
        #expect(throws: MigrationError.self) { try migrator(create, index).apply(toDatabaseAt: database.url) }
        #expect(try validIndexes() == ["item_name_0"])

        try database.execute("DELETE FROM shop.item WHERE n = 2")
        _ = try migrator(create, index).apply(toDatabaseAt: database.url)
        #expect(try validIndexes() == ["item_name", "item_name_0", "item_name_1", "item_name_2"])
        #expect(throws: DatabaseError.self) { try database.execute("INSERT INTO shop.item VALUES (3, 100, 'a')") }
    }

    @Test("several migrators may start at once where one makes an index concurrently")
    func concurrent() async throws {
        let migrator = migrator(create, index)
        let counts = try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<4 { group.addTask { [url = database.url] in try migrator.apply(toDatabaseAt: url).count } }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts.sorted() == [0, 0, 0, 2])
        #expect(try validIndexes() == ["item_name"])
    }

    @Test(
        "an index that a repetition could not find is refused",
        arguments: [
            "CREATE INDEX CONCURRENTLY ON shop.item (name)", "create index concurrently item_name on shop.item (name)",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS item_name ON item (name)",
            "CREATE INDEX CONCURRENTLY IF NOT EXISTS item_name ON ONLY shop.item (name)",
        ])
    func unknownForms(statement: String) throws {
        #expect(throws: MigrationError.unknownForm(statement: statement)) {
            try migrator(create, migration(2, "-- parley: no transaction\n\(statement);"))
                .apply(toDatabaseAt: database.url)
        }
    }

    @Test("an older build goes on beside a migration that says so, and beside no other")
    func compatibility() throws {
        let kind = migration(2, "-- parley: compatible from 1\nALTER TABLE shop.item ADD COLUMN kind text;")
        let other = migration(3, "-- What older builds read.\n-- parley: compatible from 2\nDROP TABLE shop.counter;")
        _ = try migrator(create, kind).apply(toDatabaseAt: database.url)
        try migrator(create).requireVersion(ofDatabaseAt: database.url)
        #expect(try migrator(create).apply(toDatabaseAt: database.url).isEmpty)

        _ = try migrator(create, kind, other).apply(toDatabaseAt: database.url)
        try migrator(create, kind).requireVersion(ofDatabaseAt: database.url)
        #expect(throws: MigrationError.databaseIsNewer(number: 3)) {
            try migrator(create).requireVersion(ofDatabaseAt: database.url)
        }
        #expect(throws: MigrationError.databaseIsNewer(number: 3)) {
            try migrator(create).apply(toDatabaseAt: database.url)
        }
    }

    @Test("builds that know of no compatibility find what they know and nothing else, where older ones go on")
    func olderMigrators() throws {
        let kind = migration(2, "-- parley: compatible from 1\nALTER TABLE shop.item ADD COLUMN kind text;")
        _ = try migrator(create, kind).apply(toDatabaseAt: database.url)
        #expect(try database.query("SELECT number FROM shop.migrations").map { $0[0] as Int32 } == [1])
        #expect(try migrator(create, kind).apply(toDatabaseAt: database.url).isEmpty)
        try migrator(create, kind).requireVersion(ofDatabaseAt: database.url)
    }

    @Test("a database that such a build has made is read, and brought up to date")
    func olderDatabase() throws {
        _ = try migrator(create).apply(toDatabaseAt: database.url)
        try database.execute("DROP TABLE shop.migrations_beside")
        #expect(throws: MigrationError.databaseIsOlder(missing: 2)) {
            try migrator(create, index).requireVersion(ofDatabaseAt: database.url)
        }
        #expect(try migrator(create, index).apply(toDatabaseAt: database.url).count == 1)
        #expect(throws: MigrationError.databaseIsNewer(number: 2)) {
            try migrator(create).requireVersion(ofDatabaseAt: database.url)
        }
    }

    @Test(
        "a migration that needs a table in use keeps nobody from it for long, says so once, and goes on when it is free"
    )
    func tableInUse() async throws {
        _ = try migrator(create).apply(toDatabaseAt: database.url)
        let kind = migration(
            2, "ALTER TABLE shop.counter ADD COLUMN sum bigint; ALTER TABLE shop.item ADD COLUMN kind text;")
        let dump = try database.connect(), user = try database.connect()
        try dump.execute("BEGIN; LOCK TABLE shop.item IN ACCESS SHARE MODE")
        let migrating = Task.detached { [url = database.url, migrator = migrator(create, kind)] in
            var told = 0
            let applied = try migrator.apply(toDatabaseAt: url) { told += 1 }
            return (applied.map(\.number), told)
        }
        try user.execute("SET statement_timeout = '5s'")
        var longest = Duration.zero
        let start = ContinuousClock.now
        while ContinuousClock.now - start < .seconds(8) {
            let before = ContinuousClock.now
            try user.execute("SELECT FROM shop.item")
            try user.execute("SELECT FROM shop.counter")
            longest = max(longest, ContinuousClock.now - before)
            try await Task.sleep(for: .milliseconds(20))
        }
        #expect(longest > .seconds(1) && longest < .seconds(4), "\(longest)")
        try dump.execute("COMMIT")
        let (applied, told) = try await migrating.value
        #expect(applied == [2] && told == 1)
    }

    @Test("statements are told apart, whatever hides their semicolons")
    func statements() {
        let text = #"""
            SELECT ';' || 'it''s; ' -- one; two
            ; SELECT E'\';', name';', "a;b", $1, a$b$c; /* ; /* ; */ ; */
            DO $x$ BEGIN; $$;$$ END $x$;;
            SELECT $$;$$
            """#
        #expect(
            SQLStatements.of(text) == [
                "SELECT ';' || 'it''s; '", #"SELECT E'\';', name';', "a;b", $1, a$b$c"#,
                "DO $x$ BEGIN; $$;$$ END $x$", "SELECT $$;$$",
            ])
        #expect(SQLStatements.of(" -- nothing\n;") == [])
        for open in ["'", "E'\\", "\"", "/*", "$$ ", "$", "--"] { _ = SQLStatements.of("SELECT " + open) }
    }
}
