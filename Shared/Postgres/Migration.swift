/// A step of a schema. Once merged it is never edited: databases that have applied it would differ from new ones.
///
/// The leading comments of a file may set how it is applied:
///
///     -- parley: no transaction
///     -- parley: compatible from 11
///
/// `no transaction`: its statements run one by one, and each commits by itself. It is for statements that cannot run in
/// a transaction or would hold its locks for too long. It is recorded as applied after the last one. After an
/// interruption it starts over, so every statement must be safe to repeat. `CREATE INDEX CONCURRENTLY` must be written
/// `CREATE [UNIQUE] INDEX CONCURRENTLY IF NOT EXISTS name ON schema.table …`. A failed index is built again, and a
/// partitioned table gets its index partition by partition (`ConcurrentIndex`). A constraint is added by
/// `DROP CONSTRAINT IF EXISTS`, `ADD … NOT VALID` and `VALIDATE CONSTRAINT`. Rows are filled in by a `DO` block that
/// commits between its batches.
///
/// `compatible from N`: executables whose last migration is N still work beside it, and start on it. Without the line
/// only those that know it do.
public struct Migration: Sendable {
    /// From 1, without gaps.
    public let number: Int32
    public let name: String
    public let sql: String
    /// The last migration of the oldest executables that work with a database that has this one.
    public let compatibleFrom: Int32
    let isTransactional: Bool

    public init(_ number: Int32, _ name: String, sql bytes: [UInt8]) {
        self.number = number
        self.name = name
        sql = String(decoding: bytes, as: UTF8.self)
        var compatibleFrom = number, isTransactional = true
        for instruction in Self.instructions(in: sql) {
            let words = instruction.split(separator: " ")
            switch (words.count, words.first, words.dropFirst().first, words.last.flatMap { Int32($0) }) {
            case (2, "no", "transaction", _): isTransactional = false
            case (3, "compatible", "from", let oldest?): compatibleFrom = oldest
            default: preconditionFailure("migration \(number) asks for what no migrator knows: \(instruction)")
            }
        }
        precondition(1...number ~= compatibleFrom, "migration \(number) is compatible with none that came before")
        self.compatibleFrom = compatibleFrom
        self.isTransactional = isTransactional
    }

    /// The text after `-- parley:` in the leading comments.
    private static func instructions(in sql: String) -> [Substring] {
        sql.split(separator: "\n", omittingEmptySubsequences: false).prefix { $0.hasPrefix("--") }
            .filter { $0.hasPrefix("-- parley:") }.map { $0.dropFirst("-- parley:".count) }
    }
}

/// A mismatch between a schema and the code.
public enum MigrationError: Error, Equatable {
    case database(DatabaseError)
    /// The text of an applied migration has changed.
    case edited(number: Int32)
    /// The database has a migration that this build does not know and does not work with.
    case databaseIsNewer(number: Int32)
    /// The database lacks migrations.
    case databaseIsOlder(missing: Int32)
    /// A statement that the migrator cannot run in this form.
    case unknownForm(statement: String)
    /// The server cannot lock that many partitions: the value of `max_locks_per_transaction`, and the value it needs.
    case tooFewLocks(present: Int64, needed: Int64)
    /// The tables are already distributed, or partitioned, and a layout was asked for that is another.
    case hasOtherLayout(String)
    /// The database lacks the extension `citus`.
    case hasNoCitus
    /// The database is distributed: it can be migrated, and not served.
    case databaseIsDistributed
    /// A published view of another service is missing, or this service's user may not read it.
    case notPublished(view: String, schema: String, reason: String)
}

extension MigrationError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .database(let error): error.debugDescription
        case .edited(let number): "migration \(number) was edited after the database applied it"
        case .databaseIsNewer(let number):
            "the database has migration \(number), which this build does not know and does not work with"
        case .databaseIsOlder(let missing): "the database lacks migration \(missing): run `migrate` first"
        case .unknownForm(let statement):
            """
            must be written CREATE [UNIQUE] INDEX CONCURRENTLY IF NOT EXISTS name ON schema.table …: \(statement)
            """
        case .tooFewLocks(let present, let needed):
            """
            max_locks_per_transaction of the database is \(present) and must be at least \(needed) to make so many partitions: \
            set it in postgresql.conf, restart PostgreSQL and migrate again; no table was cut
            """
        case .hasOtherLayout(let present):
            "the tables are \(present): the layout of a database is chosen once, when it is new"
        case .hasNoCitus: "the database has no extension citus: see docs/operations.md"
        case .databaseIsDistributed:
            "the tables are distributed over Citus, where this service does not run yet: see docs/operations.md"
        case .notPublished(let view, let schema, let reason):
            """
            \(view) cannot be read: run `\(schema) migrate`, then grant what the files of deploy/database grant \
            (\(reason))
            """
        }
    }
}
