import Glibc

/// Brings one schema to the version this build was made for, or checks that it is there.
///
/// The schema's table `migrations` lists what was applied, with a checksum of the text. Builds that have been told of no
/// compatibility start on nothing that it lists and they do not know; so what older builds work beside is listed in
/// `migrations_beside`, with the oldest of them. Each migration runs in one transaction with its entry there, or, where it
/// says so, statement by statement with its entry behind them; under an advisory lock, so several may start at once.
/// Blocks: it runs before the reactor does.
public struct Migrator: Sendable {
    public let schema: String
    private let migrations: [Migration]
    private let published: [PublishedView]

    /// `schema` is an identifier of the code's own, never of a user: it is not quoted.
    /// - Parameter published: views of this schema for other services.
    public init(schema: String, _ migrations: [Migration], publishing published: [PublishedView] = []) {
        precondition(migrations.map(\.number) == Array(1...Int32(migrations.count)), "migrations count from 1")
        self.schema = schema
        self.migrations = migrations
        self.published = published
    }

    /// How long a statement waits for a lock on a table that is in use: whoever comes later waits behind it.
    static let lockTimeout = "SET lock_timeout = '2s'"

    /// Applies what the database lacks and returns it. Tables that are new then get their layout, and views are made of
    /// what is published of them; a newer build's views stay as they are.
    ///
    /// - Parameter onLocked: called once, if it has to wait for tables to be free. It tries again and again, with pauses in
    ///   which others get their turn, so behind a dump it waits for the end of that and keeps nobody from anything.
    public func apply(
        toDatabaseAt url: String, layout: Layout = .plain, onLocked: () -> Void = {}
    ) throws(MigrationError) -> [Migration] {
        let database = try connect(to: url)
        try prepare(database)
        var isTold = false
        func tell() {
            if !isTold { onLocked() }
            isTold = true
        }
        let applied = try appliedCount(in: database)
        let missing = migrations.suffix(from: applied.known)
        if missing.count == migrations.count { try requireLocks(for: layout, behind: missing, in: database) }
        for migration in missing { try apply(migration, to: database, onLocked: tell) }
        try requireLocks(for: layout, in: database)
        try repeating(onLocked: tell) { () throws(DatabaseError) in try database.execute(layout.sql(schema: schema)) }
        if !applied.hasNewer { try publish(in: database, onLocked: tell) }
        return Array(missing)
    }

    private func publish(in database: BlockingConnection, onLocked: () -> Void) throws(MigrationError) {
        for view in published {
            try repeating(onLocked: onLocked) { () throws(DatabaseError) in try view.publish(in: database) }
        }
    }

    /// Does what comes to nothing without a lock until it has one.
    private func repeating(
        onLocked: () -> Void, _ body: () throws(DatabaseError) -> Void
    ) throws(MigrationError) {
        var pause: UInt32 = 1
        while true {
            do throws(DatabaseError) {
                return try body()
            } catch  where error.sqlState == .lockNotAvailable || error.sqlState == .deadlockDetected {
                onLocked()
                sleep(pause)
                pause = min(pause + 1, 5)
            } catch {
                throw .database(error)
            }
        }
    }

    /// Throws unless the database has the migrations of this build, and beyond them only such as this build works with.
    public func requireVersion(ofDatabaseAt url: String) throws(MigrationError) {
        let count = try appliedCount(in: connect(to: url)).known
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
            // Not `pg_advisory_lock`: CREATE INDEX CONCURRENTLY of whoever has the lock would wait for the statement that
            // waits for it.
            while try !tryLock(database) { usleep(100_000) }
            try database.execute(
                """
                CREATE SCHEMA IF NOT EXISTS \(schema);
                CREATE TABLE IF NOT EXISTS \(schema).migrations (
                    number     integer     PRIMARY KEY,
                    name       text        NOT NULL,
                    checksum   bytea       NOT NULL,
                    applied_at timestamptz NOT NULL DEFAULT now()
                );
                CREATE TABLE IF NOT EXISTS \(schema).migrations_beside (
                    number          integer     PRIMARY KEY,
                    name            text        NOT NULL,
                    checksum        bytea       NOT NULL,
                    applied_at      timestamptz NOT NULL DEFAULT now(),
                    compatible_from integer     NOT NULL
                );
                \(Self.lockTimeout)
                """)
        } catch {
            throw .database(error)
        }
    }

    /// Throws where a new database that had these migrations could not be cut, and leaves it as it is.
    private func requireLocks(
        for layout: Layout, behind migrations: some Sequence<Migration>, in database: BlockingConnection
    ) throws(MigrationError) {
        guard case .partitions = layout else { return }
        do throws(DatabaseError) { try database.execute("BEGIN") } catch { throw .database(error) }
        defer { try? database.execute("ROLLBACK") }
        for migration in migrations {
            for statement in migration.isTransactional ? [migration.sql] : SQLStatements.of(migration.sql) {
                // What else is done statement by statement takes no locks that stay.
                let index = migration.isTransactional ? nil : try ConcurrentIndex(statement: statement)
                guard migration.isTransactional || index != nil else { continue }
                do throws(DatabaseError) {
                    try database.execute(index?.statementForEmptyTable ?? statement)
                } catch {
                    throw .database(error)
                }
            }
        }
        try requireLocks(for: layout, in: database)
    }

    /// Throws where the server has no room for the locks on all that the layout is going to make.
    private func requireLocks(for layout: Layout, in database: BlockingConnection) throws(MigrationError) {
        let row: Row
        do throws(DatabaseError) {
            row = try database.query(layout.locks(schema: schema))[0]
        } catch {
            throw .database(error)
        }
        let needed: Int64 = row[0], present: Int64 = row[1], sessions: Int64 = row[2]
        guard needed <= present * sessions else {
            throw .tooFewLocks(present: present, needed: (needed + sessions - 1) / sessions)
        }
    }

    private func tryLock(_ database: BlockingConnection) throws(DatabaseError) -> Bool {
        try database.query("SELECT pg_try_advisory_lock(hashtextextended($1, 0))") { $0.add("parley \(schema)") }[0][0]
    }

    /// How many of this build's migrations are applied, and whether a newer build's are, after checking that it works with
    /// all that are.
    private func appliedCount(
        in database: BlockingConnection
    ) throws(MigrationError) -> (known: Int, hasNewer: Bool) {
        var (count, hasNewer) = (0, false)
        for row in try applied(in: database) {
            if let isUnchanged: Bool = row[1] {
                guard isUnchanged else { throw .edited(number: row[0]) }
                count += 1
            } else {
                let oldest: Int32 = row[2]
                guard oldest <= migrations.count else { throw .databaseIsNewer(number: row[0]) }
                hasNewer = true
            }
        }
        return (count, hasNewer)
    }

    /// The applied migrations in order, each with whether its text is still the same (NULL: it is not known here), and
    /// the oldest build that works with it.
    private func applied(in database: BlockingConnection) throws(MigrationError) -> [Row] {
        do throws(DatabaseError) {
            // Older builds make no such table.
            let hasBeside: Bool = try database.query(
                "SELECT to_regclass('\(schema).migrations_beside') IS NOT NULL")[0][0]
            let beside = "UNION ALL SELECT number, checksum, compatible_from FROM \(schema).migrations_beside"
            return Array(
                try database.query(
                    """
                    SELECT applied.number, applied.checksum = sha256(convert_to(known.sql, 'UTF8')), applied.compatible_from
                    FROM (SELECT number, checksum, number AS compatible_from FROM \(schema).migrations
                          \(hasBeside ? beside : "")) applied
                    LEFT JOIN unnest($1, $2) AS known (number, sql) USING (number)
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

    private func apply(
        _ migration: Migration, to database: BlockingConnection, onLocked: () -> Void
    ) throws(MigrationError) {
        guard migration.isTransactional else {
            return try applyByStatement(migration, to: database, onLocked: onLocked)
        }
        try repeating(onLocked: onLocked) { () throws(DatabaseError) in
            try database.transaction { () throws(DatabaseError) in
                try database.execute(migration.sql)
                try note(migration, in: database)
            }
        }
    }

    private func applyByStatement(
        _ migration: Migration, to database: BlockingConnection, onLocked: () -> Void
    ) throws(MigrationError) {
        for statement in SQLStatements.of(migration.sql) {
            let index = try ConcurrentIndex(statement: statement)
            try repeating(onLocked: onLocked) { () throws(DatabaseError) in
                if let index { try index.build(in: database) } else { try database.execute(statement) }
            }
        }
        do throws(DatabaseError) {
            try note(migration, in: database)
        } catch {
            throw .database(error)
        }
    }

    private func note(_ migration: Migration, in database: BlockingConnection) throws(DatabaseError) {
        let isBeside = migration.compatibleFrom < migration.number
        _ = try database.query(
            isBeside
                ? """
                INSERT INTO \(schema).migrations_beside (number, name, checksum, compatible_from)
                VALUES ($1, $2, sha256(convert_to($3, 'UTF8')), $4)
                """
                : """
                INSERT INTO \(schema).migrations (number, name, checksum) VALUES ($1, $2, sha256(convert_to($3, 'UTF8')))
                """
        ) { parameters in
            parameters.add(migration.number)
            parameters.add(migration.name)
            parameters.add(migration.sql)
            if isBeside { parameters.add(migration.compatibleFrom) }
        }
    }
}
