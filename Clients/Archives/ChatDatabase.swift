import Foundation
import Models
import ParleyStorage

/// The `chat.db` of Messages, which may be running and writing: it is read in one snapshot, and never written.
final class ChatDatabase {
    let sqlite: ReadOnlyDatabase
    private let path: String
    /// The file as it was when it was opened without locks; nil where SQLite keeps others out of what is read.
    private let unlocked: FileState?
    /// The columns of each table, which differ by the version of macOS.
    private var columns: [String: Set<String>] = [:]

    private static let tables = [
        "message", "chat", "handle", "attachment", "chat_message_join", "chat_handle_join", "message_attachment_join",
        "chat_recoverable_message_join",
    ]
    /// Without these it is no file of Messages.
    private static let required = ["message", "chat", "handle", "chat_message_join"]

    init(path: String) throws {
        self.path = path
        guard let header = FileHandle(forReadingAtPath: path).flatMap({ try? $0.read(upToCount: 20) }) else {
            throw ArchiveError("\(path) cannot be read; on a Mac, the terminal needs \"Full Disk Access\"")
        }
        // A file in WAL mode without its log has no writer now. Opened as usual, SQLite would make a log beside it.
        let isWAL = header.count == 20 && header[18] == 2
        let isUnchanging = isWAL && !FileManager.default.fileExists(atPath: path + "-wal")
        unlocked = isUnchanging ? FileState(path) : nil
        sqlite = try ReadOnlyDatabase(path: path, isUnchanging: isUnchanging)
        for table in Self.tables {
            columns[table] = Set(try sqlite.all("SELECT name FROM pragma_table_info('\(table)')") { $0.text(0) })
        }
        guard Self.required.allSatisfy({ has($0) }) else { throw ArchiveError("\(path) is no chat.db of Messages") }
    }

    /// Calls `body` in one snapshot of the file.
    func snapshot<Value>(_ body: () throws -> Value) throws -> Value {
        try sqlite.rows("BEGIN") { _ in }
        defer { try? sqlite.rows("COMMIT") { _ in } }
        let value = try body()
        guard isCurrent else {
            throw ArchiveError("\(path) was written while it was read; read it again, now that Messages is running")
        }
        return value
    }

    /// Whether it is still as it was opened: with locks, or as nobody has written since.
    var isCurrent: Bool { unlocked == nil || unlocked == FileState(path) }

    /// A number that differs when somebody has written.
    func dataVersion() throws -> Int64 { try sqlite.first("PRAGMA data_version") { $0.integer(0) } ?? 0 }

    /// Copies everything in one snapshot. The copy has its name when it is complete.
    func copy(to copy: String) throws {
        let partial = copy + ".part"
        for ending in ["", "-wal", "-shm", "-journal"] { try? FileManager.default.removeItem(atPath: partial + ending) }
        try sqlite.copy(to: partial)
        guard isCurrent else { throw ArchiveError("\(path) was written while it was copied") }
        guard rename(partial, copy) == 0 else {
            throw ArchiveError("\(copy) cannot be written: \(String(cString: strerror(errno)))")
        }
    }

    func has(_ table: String) -> Bool { !(columns[table] ?? []).isEmpty }

    /// The SQL of a column; NULL where this version of macOS has none.
    func column(_ table: String, _ name: String, as alias: String? = nil) -> String {
        columns[table]?.contains(name) ?? false ? "\(alias ?? table).\(name)" : "NULL"
    }
}

/// What changes when a file is written.
private struct FileState: Equatable {
    let size: UInt64?
    let changed: Date?
    let hasLog: Bool

    init(_ path: String) {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        size = (attributes?[.size] as? NSNumber)?.uint64Value
        changed = attributes?[.modificationDate] as? Date
        hasLog = FileManager.default.fileExists(atPath: path + "-wal")
    }
}
