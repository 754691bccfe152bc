import CommandSupport
import Glibc
import Postgres
import Reactor

/// Removes the bytes left by deletions from the pages of tables and indexes, and from the write-ahead log.
///
/// A deletion only marks a row as dead, and VACUUM only marks its space as free. The bytes stay until something else is
/// written there. So every table is rewritten with its indexes (VACUUM FULL), and the earlier log is removed.
///
/// In a cluster of Citus this is done at each node by itself, with the shards that it has: Citus would rewrite the tables
/// at all of them, but knows neither whose transactions see what there, nor their logs. A shard that moves meanwhile leaves
/// no dead rows at its new node.
struct Scrub {
    private let connection: BlockingConnection
    private let patience: Duration
    /// Of a cluster; nil: one PostgreSQL has everything.
    private let node: NodeAddress?

    private static let lockTimeout = "500ms"
    private static let pause: useconds_t = 200_000

    init(_ connection: BlockingConnection, node: NodeAddress? = nil, patience: Duration) {
        self.connection = connection
        self.node = node
        self.patience = patience
    }

    /// - Returns: whether nothing is left.
    func run() throws(DatabaseError) -> Bool {
        let start = MonotonicTime.now
        if let node {
            Terminal.say("\(node.host):")
            try connection.execute(Self.showShards)
        }
        warnOfLogging()
        guard try awaitReaders() else { return false }
        let isComplete = try rewriteTables()
        let log = ScrubbedLog(connection)
        let isLogGone = try log.remove()
        Terminal.say("scrubbed in \(Self.seconds(since: start))")
        return isComplete && isLogGone
    }

    // MARK: Transactions that still see deleted rows

    /// Waits for older transactions, as rows that they may see are copied along. Returns true when everything deleted
    /// before this call is invisible.
    private func awaitReaders() throws(DatabaseError) -> Bool {
        let now: String = try connection.query("SELECT pg_current_xact_id()::xid::text")[0][0]
        let end = MonotonicTime.now + patience
        while let reader = try oldestReader(before: now) {
            guard MonotonicTime.now < end else {
                Terminal.tell("parley: \(reader) still sees what was deleted: end it, and scrub again")
                return false
            }
            usleep(Self.pause)
        }
        return true
    }

    private func oldestReader(before transaction: String) throws(DatabaseError) -> String? {
        let rows = try connection.query(
            """
            SELECT name FROM (
                SELECT 'the session ' || pid || ' (' || application_name || ')' AS name, backend_xmin AS horizon
                FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()
                UNION ALL
                SELECT 'the replication slot ' || slot_name, xmin FROM pg_replication_slots
                UNION ALL
                SELECT 'the prepared transaction ' || gid, transaction FROM pg_prepared_xacts
            ) r
            WHERE horizon IS NOT NULL AND age(horizon) > age($1::text::xid) ORDER BY age(horizon) DESC LIMIT 1
            """
        ) { $0.add(transaction) }
        return rows.first.map { $0[0] }
    }

    // MARK: Tables

    /// Citus hides them where it lists tables, and lets nobody work on them by their names.
    private static let showShards = """
        SET citus.override_table_visibility = off; SET citus.enable_manual_changes_to_shards = on
        """

    /// What Citus has distributed is empty here: its rows are in the shards.
    private static let hasRows = "NOT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = c.oid)"

    /// Rewrites the small tables first, because they block no one for long.
    private func rewriteTables() throws(DatabaseError) -> Bool {
        let tables = try connection.query(
            """
            SELECT format('%I.%I', n.nspname, c.relname), pg_has_role(c.relowner, 'USAGE')
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname IN ('store', 'receipt', 'media') AND c.relkind IN ('r', 'm')
            AND \(node == nil ? "true" : Self.hasRows)
            ORDER BY pg_total_relation_size(c.oid)
            """)
        var isComplete = !tables.isEmpty
        for row in tables {
            let table: String = row[0], isOwned: Bool = row[1]
            // PostgreSQL would skip it with only a warning.
            if !isOwned { Terminal.tell("parley: \(table) belongs to another role") }
            let isRewritten = try rewrite(table)
            isComplete = isComplete && isOwned && isRewritten
        }
        // Last, as the statistics contain user names.
        let hasStatistics = try rewrite("pg_catalog.pg_statistic")
        return isComplete && hasStatistics
    }

    /// Rewrites a table. Waits only briefly for its lock each time, because others queue behind the wait.
    private func rewrite(_ table: String) throws(DatabaseError) -> Bool {
        let start = MonotonicTime.now
        try connection.execute("SET lock_timeout = '\(Self.lockTimeout)'")
        while true {
            do throws(DatabaseError) {
                try connection.execute("VACUUM (FULL, ANALYZE) \(table)")
                Terminal.say("\(table): \(Self.seconds(since: start))")
                return true
            } catch  where error.isLockMissed && MonotonicTime.now < start + patience {
                usleep(Self.pause)
            } catch  where node != nil && error.isOfNoTable {
                return true  // The shard has moved away.
            } catch  where error.isLockMissed {
                Terminal.tell("parley: \(table) was in use for too long: scrub again")
                return false
            }
        }
    }

    // MARK: PostgreSQL's server log

    private static let safeSettings = [
        ("log_error_verbosity", ["terse"]), ("log_statement", ["none", "ddl"]), ("log_min_error_statement", ["panic"]),
        ("log_min_duration_statement", ["-1"]), ("log_parameter_max_length_on_error", ["0"]),
    ]

    private func warnOfLogging() {
        for (name, safe) in Self.safeSettings {
            let value: String? = try? connection.query("SELECT current_setting('\(name)', true)").first?[0]
            guard let value, !safe.contains(value) else { continue }
            Terminal.tell("parley: \(name) = \(value): PostgreSQL's log may hold texts (\(safe[0]) would not)")
        }
    }

    static func seconds(since start: MonotonicTime) -> String {
        let milliseconds = Int((MonotonicTime.now - start).milliseconds)
        let hundredths = milliseconds % 1000 / 10
        return "\(milliseconds / 1000).\(hundredths < 10 ? "0" : "")\(hundredths) s"
    }
}

extension DatabaseError {
    /// lock_not_available, or the loser of a deadlock.
    fileprivate var isLockMissed: Bool { sqlState.rawValue == "55P03" || isRaceLost }

    /// undefined_table
    fileprivate var isOfNoTable: Bool { sqlState.rawValue == "42P01" }
}
