import CommandSupport
import Glibc
import Postgres

/// Removes the write-ahead log from before this call.
///
/// A checkpoint removes the segments that no recovery needs any more, or, with `wal_recycle`, gives them new names for
/// what is to come, old bytes and all. So those that were named ahead are written full, too, by switching through them:
/// a switch fills the rest of its segment with zeros.
struct ScrubbedLog {
    private let connection: BlockingConnection

    init(_ connection: BlockingConnection) { self.connection = connection }

    /// - Returns: whether no segment of before is left.
    func remove() throws(DatabaseError) -> Bool {
        let before = try segments()
        // The segment in use holds the last of the old; once it is full, no checkpoint needs it.
        try switchSegment()
        try connection.execute("CHECKPOINT")
        try fillRecycled()
        try connection.execute("CHECKPOINT")
        let first: String = try connection.query(
            "SELECT pg_walfile_name(redo_lsn) FROM pg_control_checkpoint()")[0][0]
        let left = try segments().filter { before.contains($0) && $0 < first }
        if let segment = left.first {
            Terminal.tell("parley: \(left.count) old segments of the log are kept, from \(segment) on: \(try holder())")
        }
        return left.isEmpty
    }

    /// Segments whose names are ahead of the log's end have the bytes of those that they were: the last one, too, until
    /// it is left behind.
    private func fillRecycled() throws(DatabaseError) {
        guard let last = try segments().max() else { return }
        while try current() <= last { try switchSegment() }
    }

    private func segments() throws(DatabaseError) -> Set<String> {
        // Names of 24 digits; others are histories and parts of archiving.
        Set(try connection.query("SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'").map { $0[0] })
    }

    private func current() throws(DatabaseError) -> String {
        try connection.query("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")[0][0]
    }

    /// A switch right behind a switch does nothing: something has to be in the segment.
    private func switchSegment() throws(DatabaseError) {
        _ = try connection.query("SELECT pg_logical_emit_message(false, 'parley', 'scrub')::text")
        _ = try connection.query("SELECT pg_switch_wal()::text")
    }

    private func holder() throws(DatabaseError) -> String {
        let slot: String? = try connection.query(
            "SELECT slot_name::text FROM pg_replication_slots WHERE restart_lsn IS NOT NULL ORDER BY restart_lsn LIMIT 1"
        ).first.map { $0[0] }
        if let slot { return "the replication slot \(slot) needs them" }
        return "wal_keep_size, or archiving that is behind, keeps them"
    }
}
