import CommandSupport
import Glibc
import Postgres

/// Removes the write-ahead log written before this call.
///
/// A checkpoint removes segments that no recovery needs or, with `wal_recycle`, renames them for future use with their
/// old bytes. The renamed ones are therefore overwritten by switching through them: a switch fills the rest of its
/// segment with zeros.
struct ScrubbedLog {
    private let connection: BlockingConnection

    init(_ connection: BlockingConnection) { self.connection = connection }

    /// - Returns: whether no earlier segment is left.
    func remove() throws(DatabaseError) -> Bool {
        let before = try segments()
        // The current segment contains the last old data. Once it is full, no checkpoint needs it.
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

    /// Overwrites segments named ahead of the log's end, which hold the bytes of their former use. That includes the
    /// last one, so the log must move past it.
    private func fillRecycled() throws(DatabaseError) {
        guard let last = try segments().max() else { return }
        while try current() <= last { try switchSegment() }
    }

    private func segments() throws(DatabaseError) -> Set<String> {
        // Segment names have 24 digits. Others are timeline histories and archiving files.
        Set(try connection.query("SELECT name FROM pg_ls_waldir() WHERE name ~ '^[0-9A-F]{24}$'").map { $0[0] })
    }

    private func current() throws(DatabaseError) -> String {
        try connection.query("SELECT pg_walfile_name(pg_current_wal_insert_lsn())")[0][0]
    }

    /// Writes something before the switch, because a switch right after a switch does nothing.
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
