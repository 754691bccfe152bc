import Glibc
import Postgres

/// The command `store restored`, run after a backup is restored. It gives the history a new name (`logId`), so every
/// client whose cursors come from the lost future has to start over.
enum RestoredCommand {
    /// Ends the process, with status 0 on success.
    static func run(databaseURL: String?) -> Never {
        guard let databaseURL else { fail("PARLEY_DATABASE_URL must be set") }
        do throws(DatabaseError) {
            let logID = try renameHistory(ofDatabaseAt: databaseURL)
            print("store: the history is now \(logID)")
            exit(0)
        } catch {
            fail(error.debugDescription)
        }
    }

    /// Refuses while services run on the database. They and their fanouts would continue with what they know of the old
    /// history.
    static func renameHistory(ofDatabaseAt url: String) throws(DatabaseError) -> String {
        let database = try BlockingConnection(url: url, applicationName: "parley-restored")
        let ofWorkers =
            "SELECT sum(result::bigint)::bigint FROM run_command_on_workers($$\(sessionsWithSlots)$$)"
        let running = try database.isDistributed() ? ofWorkers : sessionsWithSlots
        guard try database.query(running)[0][0] as Int64 == 0 else {
            throw DatabaseError(
                SQLState(rawValue: "55006"), "stores are running on this database: stop all services first")
        }
        // Not in the update: Citus takes no volatile function there.
        let logID: String = try database.query("SELECT gen_random_uuid()::text")[0][0]
        _ = try database.query("UPDATE store.deployment SET log_id = $1::text::uuid") { $0.add(logID) }
        return logID
    }

    /// How many sessions hold slots of the database on this node.
    private static let sessionsWithSlots = """
        SELECT count(DISTINCT pid) FROM pg_locks
        WHERE locktype = 'advisory' AND classid::bigint BETWEEN \(Schema.slotLocks) AND \(Schema.slotLocks + 1) AND objsubid = 2
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """

    private static func fail(_ reason: String) -> Never {
        let line = Array("restored: \(reason)\n".utf8)
        _ = write(STDERR_FILENO, line, line.count)
        exit(1)
    }
}
