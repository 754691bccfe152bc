/// Brings one schema to the version this build was made for, or checks that it is there.
///
/// The schema's table `migrations` lists what was applied, with a checksum of the text. Each migration runs in one
/// transaction with its entry there, under an advisory lock, so several may start at once. Blocks: it runs before the
/// reactor does.
package struct Migrator {
    let schema: String
    private let migrations: [Migration]

    /// `schema` is an identifier of the code's own, never of a user: it is not quoted.
    package init(schema: String, _ migrations: [Migration]) {
        precondition(migrations.map(\.number) == Array(1...Int32(migrations.count)), "migrations count from 1")
        self.schema = schema
        self.migrations = migrations
    }

    /// Applies what the database lacks and returns it.
    package func apply(toDatabaseAt url: String) throws(MigrationError) -> [Migration] {
        try connected(to: url) { database throws(MigrationError) in
            try lock(database)
            try createTable(database)
            let missing = migrations.suffix(from: try appliedCount(database))
            for migration in missing { try apply(migration, database) }
            return Array(missing)
        }
    }

    /// Throws unless the database has exactly the migrations of this build.
    package func requireVersion(ofDatabaseAt url: String) throws(MigrationError) {
        try connected(to: url) { database throws(MigrationError) in
            let count = try appliedCount(database)
            guard count == migrations.count else { throw .databaseIsOlder(missing: Int32(count + 1)) }
        }
    }

    // MARK: Steps

    private func connected<Result>(
        to url: String, _ body: (BlockingConnection) throws(MigrationError) -> Result
    ) throws(MigrationError) -> Result {
        try body(
            asMigrationError { () throws(DatabaseError) in
                try BlockingConnection(url: url, applicationName: "parley-migrate")
            })
    }

    /// Held until the connection closes.
    private func lock(_ database: BlockingConnection) throws(MigrationError) {
        try asMigrationError { () throws(DatabaseError) in
            _ = try database.query("SELECT pg_advisory_lock(hashtextextended($1, 0))") { $0.add("parley \(schema)") }
        }
    }

    private func createTable(_ database: BlockingConnection) throws(MigrationError) {
        try asMigrationError { () throws(DatabaseError) in
            try database.execute(
                """
                CREATE SCHEMA IF NOT EXISTS \(schema);
                CREATE TABLE IF NOT EXISTS \(schema).migrations (
                    number     integer     PRIMARY KEY,
                    name       text        NOT NULL,
                    checksum   bytea       NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                )
                """)
        }
    }

    /// How many migrations are applied, after checking that they are the ones this build knows.
    private func appliedCount(_ database: BlockingConnection) throws(MigrationError) -> Int {
        let applied: Rows
        do {
            applied = try database.query(
                """
                SELECT applied.number, applied.checksum = sha256(convert_to(known.sql, 'UTF8'))
                FROM \(schema).migrations applied LEFT JOIN unnest($1, $2) AS known (number, sql) USING (number)
                ORDER BY number
                """
            ) { parameters in
                parameters.addArray(of: .int4)
                for migration in migrations { parameters.append(migration.number) }
                parameters.addArray(of: .text)
                for migration in migrations { parameters.append(migration.sql) }
            }
        } catch  where error.sqlState == .undefinedTable {
            return 0
        } catch {
            throw .database(error)
        }
        for row in applied {
            guard let isUnchanged: Bool = row[1] else { throw .databaseIsNewer(number: row[0]) }
            guard isUnchanged else { throw .edited(number: row[0]) }
        }
        return applied.count
    }

    private func apply(_ migration: Migration, _ database: BlockingConnection) throws(MigrationError) {
        try asMigrationError { () throws(DatabaseError) in
            try database.transaction { () throws(DatabaseError) in
                try database.execute(migration.sql)
                _ = try database.query(
                    """
                    INSERT INTO \(schema).migrations (number, name, checksum)
                    VALUES ($1, $2, sha256(convert_to($3, 'UTF8')))
                    """
                ) { parameters in
                    parameters.add(migration.number)
                    parameters.add(migration.name)
                    parameters.add(migration.sql)
                }
            }
        }
    }
}

private func asMigrationError<Result>(
    _ body: () throws(DatabaseError) -> Result
) throws(MigrationError) -> Result {
    do { return try body() } catch { throw .database(error) }
}
