import CSQLite

/// The reason why the local database did not do what was asked. Nothing of the failed transaction is stored, and what
/// was stored before stays.
public struct StorageError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Reason: Hashable, Sendable {
        /// There is no space left.
        case full
        /// The file or its folder cannot be written.
        case readOnly
        /// Another process held the database for longer than the patience of this one.
        case busy
        /// The file is damaged, or no database.
        case unreadable
        /// A newer version of the application has written the file.
        case newerVersion
        /// The database was closed.
        case closed
        /// Anything else, such as a failing disk.
        case other
    }

    public let reason: Reason
    /// SQLite's extended result code.
    public let code: Int32
    /// For developers. It never holds the text of a message.
    public let description: String

    package init(reason: Reason, code: Int32 = 0, description: String) {
        self.reason = reason
        self.code = code
        self.description = description
    }

    /// Another row has what only one may have (`SQLITE_CONSTRAINT_UNIQUE`). Nothing but the statement was undone.
    var isOfUniqueness: Bool { code == SQLITE_CONSTRAINT | 8 << 8 }

    init(_ code: Int32, _ handle: OpaquePointer?, during action: StaticString) {
        let message = String(cString: handle.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
        let extended = handle.map { sqlite3_extended_errcode($0) } ?? code
        self.init(reason: Self.reason(code), code: extended, description: "\(message) (\(extended)), \(action)")
    }

    private static func reason(_ code: Int32) -> Reason {
        switch code & 0xFF {
        case SQLITE_FULL: .full
        case SQLITE_READONLY, SQLITE_CANTOPEN, SQLITE_PERM: .readOnly
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_CORRUPT, SQLITE_NOTADB: .unreadable
        default: .other
        }
    }
}
