/// Brings one schema to the version this build was made for, or checks that it is there.
///
/// The schema's table `migrations` lists what was applied, with a checksum of the text. Each migration runs in one
/// transaction with its entry there, under an advisory lock, so several may start at once. Blocks: it runs before the
/// reactor does.
public struct Migrator: Sendable {
    let schema: String
    private let migrations: [Migration]

    /// `schema` is an identifier of the code's own, never of a user: it is not quoted.
    public init(schema: String, _ migrations: [Migration]) {
        precondition(migrations.map(\.number) == Array(1...Int32(migrations.count)), "migrations count from 1")
        self.schema = schema
        self.migrations = migrations
    }

    /// Applies what the database lacks and returns it. Tables that are new then get their layout.
    public func apply(toDatabaseAt url: String, layout: Layout = .plain) throws(MigrationError) -> [Migration] {
        let database = try connect(to: url)
        try prepare(database)
        let missing = migrations.suffix(from: try appliedCount(in: database))
        for migration in missing { try apply(migration, to: database) }
        do throws(DatabaseError) {
            try database.execute(layout.sql(schema: schema))
        } catch {
            throw .database(error)
        }
        return Array(missing)
    }

    /// Throws unless the database has exactly the migrations of this build.
    public func requireVersion(ofDatabaseAt url: String) throws(MigrationError) {
        let count = try appliedCount(in: connect(to: url))
        guard count == migrations.count else { throw .databaseIsOlder(missing: Int32(count + 1)) }
    }

    private func connect(to url: String) throws(MigrationError) -> BlockingConnection {
        do throws(DatabaseError) {
            return try BlockingConnection(url: url, applicationName: "parley-migrate")
        } catch {
            throw .database(error)
        }
    }

    /// Makes sure that nobody else migrates until the connection closes, and that there is a place for the entries.
    private func prepare(_ database: BlockingConnection) throws(MigrationError) {
        do throws(DatabaseError) {
            _ = try database.query("SELECT pg_advisory_lock(hashtextextended($1, 0))") { $0.add("parley \(schema)") }
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
        } catch {
            throw .database(error)
        }
    }

    /// How many migrations are applied, after checking that they are the ones this build knows.
    private func appliedCount(in database: BlockingConnection) throws(MigrationError) -> Int {
        let applied = try applied(in: database)
        for row in applied {
            guard let isUnchanged: Bool = row[1] else { throw .databaseIsNewer(number: row[0]) }
            guard isUnchanged else { throw .edited(number: row[0]) }
        }
        return applied.count
    }

    /// The applied migrations in order, each with whether its text is still the same; NULL: it is not known here.
    private func applied(in database: BlockingConnection) throws(MigrationError) -> [Row] {
        do throws(DatabaseError) {
            return Array(
                try database.query(
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
                })
        } catch  where error.sqlState == .undefinedTable {
            return []
        } catch {
            throw .database(error)
        }
    }

    private func apply(_ migration: Migration, to database: BlockingConnection) throws(MigrationError) {
        do throws(DatabaseError) {
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
        } catch {
            throw .database(error)
        }
    }
}
