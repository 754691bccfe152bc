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

    @Test("an empty database lacks the first migration")
    func empty() {
        #expect(throws: MigrationError.databaseIsOlder(missing: 1)) {
            try Migrator(schema: "shop", [create]).requireVersion(ofDatabaseAt: database.url)
        }
    }
}
