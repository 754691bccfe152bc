import Glibc

/// Brings one schema to the version of this build, or checks that it is there.
///
/// The schema's table `migrations` lists the applied migrations, with a checksum of the text. Builds from before
/// compatibility was introduced refuse to start if it lists one that they do not know. So migrations that older builds
/// work beside are listed in `migrations_beside`, with the oldest of these builds. Each migration runs in one
/// transaction with its entry there. One that opts out runs statement by statement, with its entry after them. An
/// advisory lock lets several migrators start at once. Blocks: it runs before the reactor does.
public struct Migrator: Sendable {
    public let schema: String
    private let migrations: [Migration]
    private let published: [PublishedView]

    /// - Parameters:
    ///   - schema: an identifier from the code, never from a user: it is not quoted.
    ///   - published: views of this schema for other services.
    public init(schema: String, _ migrations: [Migration], publishing published: [PublishedView] = []) {
        precondition(migrations.map(\.number) == Array(1...Int32(migrations.count)), "migrations count from 1")
        self.schema = schema
        self.migrations = migrations
        self.published = published
    }

    /// The limit of a statement's wait for a lock on a table in use, since later users of the table wait behind it.
    static let lockTimeout = "SET lock_timeout = '2s'"

    /// Applies what the database lacks and returns it. New tables then get their layout, and their published columns
    /// get views. A newer build's views stay unchanged.
    ///
    /// - Parameter onLocked: called once, if it has to wait for tables to be free. It retries with pauses in which
    ///   others get their turn. So it waits for the end of a dump without blocking anybody.
    public func apply(
        toDatabaseAt url: String, layout: Layout = .plain, onLocked: () -> Void = {}
    ) throws(MigrationError) -> [Migration] {
        let database = try connect(to: url)
        try prepare(database)
        let isDistributed = try requirePossible(layout, in: database)
        var isTold = false
        func tell() {
            if !isTold { onLocked() }
            isTold = true
        }
        let applied = try appliedCount(in: database)
        let missing = migrations.suffix(from: applied.known)
        if missing.count == migrations.count { try requireLocks(for: layout, behind: missing, in: database) }
        for migration in missing {
            try apply(migration, to: database, isDistributed: isDistributed, onLocked: tell)
        }
        try requireLocks(for: layout, in: database)
        try repeating(onLocked: tell) { () throws(DatabaseError) in
            try layout.apply(to: schema, in: database, isDistributed: isDistributed)
        }
        if !applied.hasNewer { try publish(in: database, onLocked: tell) }
        return Array(missing)
    }

    private func publish(in database: BlockingConnection, onLocked: () -> Void) throws(MigrationError) {
        for view in published {
            try repeating(onLocked: onLocked) { () throws(DatabaseError) in try view.publish(in: database) }
        }
    }

    /// Repeats work that has no effect without a lock until it gets the lock.
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

    /// Throws unless the database has the migrations of this build, and beyond them only those that this build works
    /// with, and a layout that the service works with.
    ///
    /// - Parameter orDistributed: whether it works with one on Citus.
    /// - Returns: whether the database is on Citus.
    @discardableResult
    public func requireVersion(ofDatabaseAt url: String, orDistributed: Bool = false) throws(MigrationError) -> Bool {
        let database = try connect(to: url)
        let count = try appliedCount(in: database).known
        guard count == migrations.count else { throw .databaseIsOlder(missing: Int32(count + 1)) }
        let isDistributed = try isDistributed(database)
        if isDistributed, !orDistributed { throw .databaseIsDistributed }
        return isDistributed
    }

    private func isDistributed(_ database: BlockingConnection) throws(MigrationError) -> Bool {
        do throws(DatabaseError) {
            return try database.isDistributed()
        } catch {
            throw .database(error)
        }
    }

    /// Throws where the tables cannot get this layout because they have another, or because there is no Citus. Returns
    /// whether the database is distributed.
    private func requirePossible(_ layout: Layout, in database: BlockingConnection) throws(MigrationError) -> Bool {
        let isDistributed = try isDistributed(database), isPartitioned: Bool, hasCitus: Bool
        do throws(DatabaseError) {
            isPartitioned = try Layout.isPartitioned(schema, in: database)
            hasCitus = try Distribution.isPossible(in: database)
        } catch {
            throw .database(error)
        }
        switch layout {
        case .partitions where isDistributed: throw .hasOtherLayout("distributed")
        case .citus where isPartitioned: throw .hasOtherLayout("partitioned")
        case .citus where !hasCitus: throw .hasNoCitus
        default: return isDistributed
        }
    }

    private func connect(to url: String) throws(MigrationError) -> BlockingConnection {
        do throws(DatabaseError) {
            return try BlockingConnection(url: url, applicationName: "parley-migrate")
        } catch {
            throw .database(error)
        }
    }

    /// Makes sure that nobody else migrates until the connection closes, and creates the tables for the entries.
    private func prepare(_ database: BlockingConnection) throws(MigrationError) {
        do throws(DatabaseError) {
            // Not `pg_advisory_lock`: CREATE INDEX CONCURRENTLY of the lock's holder would wait for the statement that
            // waits for the lock.
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

    /// Throws if a new database with these migrations could not be partitioned, and leaves it unchanged.
    private func requireLocks(
        for layout: Layout, behind migrations: some Sequence<Migration>, in database: BlockingConnection
    ) throws(MigrationError) {
        guard case .partitions = layout else { return }
        do throws(DatabaseError) { try database.execute("BEGIN") } catch { throw .database(error) }
        defer { try? database.execute("ROLLBACK") }
        for migration in migrations {
            for statement in migration.isTransactional ? [migration.sql] : SQLStatements.of(migration.sql) {
                // Other statements that run one by one keep no locks. But an index may be of a column that one of them adds.
                let index = migration.isTransactional ? nil : try ConcurrentIndex(statement: statement)
                guard migration.isTransactional || index != nil || statement.hasPrefix("ALTER TABLE") else { continue }
                do throws(DatabaseError) {
                    try database.execute(index?.statementForEmptyTable ?? statement)
                } catch {
                    throw .database(error)
                }
            }
        }
        try requireLocks(for: layout, in: database)
    }

    /// Throws if the server has no room for the locks on everything that the layout will create.
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

    /// Returns how many of this build's migrations are applied, and whether a newer build's are. Checks first that this
    /// build works with all of them.
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

    /// The applied migrations in order, whether the text of each is unchanged (NULL: it is not known here), and the
    /// oldest build that works with it.
    private func applied(in database: BlockingConnection) throws(MigrationError) -> [Row] {
        do throws(DatabaseError) {
            // Older builds create no such table.
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
        _ migration: Migration, to database: BlockingConnection, isDistributed: Bool, onLocked: () -> Void
    ) throws(MigrationError) {
        guard migration.isTransactional else {
            return try applyByStatement(migration, to: database, isDistributed: isDistributed, onLocked: onLocked)
        }
        try repeating(onLocked: onLocked) { () throws(DatabaseError) in
            try database.transaction { () throws(DatabaseError) in
                if isDistributed {
                    // Citus takes one at a time.
                    for statement in SQLStatements.of(migration.sql) {
                        try Distribution.execute(statement: statement, in: database)
                    }
                } else {
                    try database.execute(migration.sql)
                }
                try note(migration, in: database)
            }
        }
    }

    private func applyByStatement(
        _ migration: Migration, to database: BlockingConnection, isDistributed: Bool, onLocked: () -> Void
    ) throws(MigrationError) {
        for statement in SQLStatements.of(migration.sql) {
            let index = try ConcurrentIndex(statement: statement)
            try repeating(onLocked: onLocked) { () throws(DatabaseError) in
                if let index {
                    try index.build(in: database)
                } else if isDistributed {
                    try Distribution.execute(statement: statement, in: database)
                } else {
                    try database.execute(statement)
                }
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
